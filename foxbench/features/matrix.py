"""The feature matrix: blocks at absolute positions, each with the halo its windows need.

The block size is part of the definition: running sums restart at each block's halo, so other
blocks would give other last bits.  Block k covers rows [16384 k, 16384 (k+1)) whatever the
length of the series; that makes every row independent of the rows after it, bit for bit.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from foxbench.bars.schema import Bars, check
from foxbench.errors import DataError, UsageError
from foxbench.features import (
    calendar,
    microstructure,
    returns,
    shape,
    technical,
    trend,
    volatility,
    volume,
)
from foxbench.features.frame import Frame, Market

GROUPS: tuple[ModuleType, ...] = (
    shape,
    returns,
    volatility,
    trend,
    technical,
    volume,
    microstructure,
    calendar,
)
#: Names of the 225 columns.
NAMES: tuple[str, ...] = tuple(name for group in GROUPS for name in group.NAMES)
#: First rows whose windows are not full yet; trainers drop them.
WARMUP = 512

BLOCK_ROWS = 16_384
HALO_ROWS = 512
CLIP = 1e4


def compute(bars: Bars, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """All features of all bars, raw (unscaled) and causal: row t uses bars up to t.

    Parameters
    ----------
    bars : Bars
    out : float32 array (n_bars, 225), optional
        Filled and returned; may be an ``np.lib.format.open_memmap``.

    Returns
    -------
    float32 array (n_bars, 225)
        Columns in the order of ``NAMES``; every value finite, clipped to +-1e4.

    Raises
    ------
    DataError
        Bars that :func:`foxbench.bars.schema.check` refuses.
    UsageError
        ``out`` of another shape or dtype.
    """
    check(bars, bars.source or bars.root)
    shape_wanted = (len(bars), len(NAMES))
    if out is None:
        out = np.empty(shape_wanted, dtype=np.float32)
    elif out.shape != shape_wanted or out.dtype != np.float32:
        raise UsageError(
            f"out is {out.dtype}{list(out.shape)}, expected float32{list(shape_wanted)}",
            "allocate it as np.empty((len(bars), len(NAMES)), np.float32)",
        )
    market = Market(bars)
    carried: dict[str, float] = {}
    # Columns are contiguous while they are computed and turned into rows once a block.
    columns = np.empty((len(NAMES), min(BLOCK_ROWS, len(bars))), dtype=np.float32)
    for first in range(0, len(bars), BLOCK_ROWS):
        end = min(first + BLOCK_ROWS, len(bars))
        block = columns[:, : end - first]
        _fill(Frame(market, first, end, min(HALO_ROWS, first), carried), block)
        out[first:end] = block.T
    return out


def _fill(frame: Frame, block: NDArray[np.float32]) -> None:
    number = 0
    for group in GROUPS:
        for name, values in group.columns(frame):
            if name != NAMES[number]:
                raise AssertionError(f"feature {number} is {name}, NAMES says {NAMES[number]}")
            own = frame.body(values)
            if not np.isfinite(own).all():
                row = int(np.argmin(np.isfinite(own)))
                raise DataError(f"feature {name} is not finite at row {frame.first + row}")
            np.clip(own, -CLIP, CLIP, out=block[number], casting="same_kind")
            number += 1
    if number != len(NAMES):
        raise AssertionError(f"{number} features computed, NAMES has {len(NAMES)}")
