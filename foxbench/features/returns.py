"""Returns over many horizons: 27 features."""

from __future__ import annotations

from collections.abc import Iterator

from foxbench.features.frame import Frame
from foxbench.features.rolling import Array, div, lag_zero

HORIZONS = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 45, 60, 90, 120, 240, 480)
SCALED_HORIZONS = (1, 5, 15, 30, 60, 120, 240, 480)
LAGS = (1, 2, 3)

NAMES = (
    *(f"r_{k}" for k in HORIZONS),
    *(f"r_{k}_scaled" for k in SCALED_HORIZONS),
    *(f"r_lag_{k}" for k in LAGS),
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``.

    Before the k-th bar a return counts from the first close.
    """
    for k in HORIZONS:
        yield f"r_{k}", f.move(k)
    for k in SCALED_HORIZONS:
        yield f"r_{k}_scaled", div(f.move(k), f.unit(k))
    for k in LAGS:
        yield f"r_lag_{k}", lag_zero(f.r, k)
