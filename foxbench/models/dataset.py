"""From bars to what trainers receive: features, next-bar returns and statics.

Knows no torch; reads Parquet only in :func:`from_parquet`, so that a synthetic market costs no
pyarrow.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foxbench.bars import calendar
from foxbench.bars.contracts import asset_class_code
from foxbench.bars.schema import MINUTE_NS, Bars
from foxbench.errors import DataError
from foxbench.features import NAMES, WARMUP, compute
from foxbench.features.frame import Market
from foxbench.features.scaler import FIT_ROWS
from foxbench.models.data import STATIC_NAMES, MarketData, Series


def series(bars: Bars, max_bars: int | None = None) -> Series:
    """One instrument's training data.

    Parameters
    ----------
    bars : Bars
    max_bars : int, optional
        Use only the first so many bars (warm-up included): 29,937 give 29,425 rows.

    Returns
    -------
    Series
        The first 512 bars are the features' warm-up and dropped.  ``returns[t]`` is the log
        return to the next bar's close, within one contract: over a roll it is the new contract's
        own open-to-close return.  Statics look at the first 6,000 rows only, as the scaler does.

    Raises
    ------
    DataError
        Fewer than 514 bars: at least two rows must be left.
    """
    if max_bars is not None:
        bars = bars[: max(0, max_bars)]
    if len(bars) < WARMUP + 2:
        raise DataError(
            f"{bars.root}: {len(bars)} bars, of which {WARMUP} are warm-up: nothing to train on",
            f"give at least {WARMUP + 2} bars",
        )
    features = compute(bars)
    r = Market(bars).r[WARMUP:]
    return Series(
        root=bars.root,
        features=features[WARMUP:],
        feature_names=NAMES,
        returns=next_returns(r),
        statics=_statics(bars[WARMUP : WARMUP + FIT_ROWS], r[:FIT_ROWS]),
    )


def next_returns(r: NDArray[np.float64]) -> NDArray[np.float32]:
    """Each bar's return to the next bar's close, from the bars' own; the last one's is 0."""
    returns = np.zeros(len(r), dtype=np.float32)
    returns[:-1] = r[1:]
    return returns


def synthetic_market(roots: Sequence[str], days: int = 180, seed: int = 7) -> MarketData:
    """Series of synthetic bars, one a root, in the order given.

    Parameters
    ----------
    roots : sequence of str
        ``ES``, ``NQ``, ``6E``, ``ZN``.
    days : int
        Calendar days; 180 give about 178,000 bars and 154 MiB of features a root.
    seed : int
    """
    from foxbench.bars.synthetic import synthetic

    return MarketData(tuple(series(synthetic(root, days, seed=seed)) for root in roots))


def from_parquet(
    paths: Sequence[str | os.PathLike[str]], max_bars: int | None = None
) -> MarketData:
    """Series of Parquet files of bars, one a file, in the order given.

    Parameters
    ----------
    paths : sequence of path
        Files of the schema of :mod:`foxbench.bars.parquet`.
    max_bars : int, optional
        As in :func:`series`, of each file.
    """
    from foxbench.bars import parquet

    return MarketData(tuple(series(parquet.read(path), max_bars) for path in paths))


def outline(paths: Sequence[str | os.PathLike[str]], max_bars: int | None = None) -> MarketData:
    """What :func:`from_parquet` would return in all but its values: right shapes, no memory.

    Reads the files' footers only, so that a config can be checked before anything is loaded.
    Too few bars to train on leave a series of no rows, which no config accepts.

    Parameters
    ----------
    paths, max_bars
        As in :func:`from_parquet`.

    Raises
    ------
    DataError
        As :func:`foxbench.bars.parquet.read`, as far as a footer tells.
    """
    from foxbench.bars import parquet

    series_of = []
    for path in paths:
        root, n_bars = parquet.outline(path)
        series_of.append(
            series_outline(root, n_bars if max_bars is None else min(n_bars, max_bars))
        )
    return MarketData(tuple(series_of))


def series_outline(root: str, n_bars: int) -> Series:
    """What :func:`series` would return of ``n_bars`` bars in all but its values, no memory."""
    n_rows = max(0, n_bars - WARMUP)
    zero = np.zeros((), dtype=np.float32)
    return Series(
        root=root,
        features=np.broadcast_to(zero, (n_rows, len(NAMES))),
        feature_names=NAMES,
        returns=np.broadcast_to(zero, (n_rows,)),
        statics=np.broadcast_to(zero, (len(STATIC_NAMES),)),
    )


def _statics(bars: Bars, r: NDArray[np.float64]) -> NDArray[np.float32]:
    """The five statics, in the order of ``STATIC_NAMES``."""
    price_nano = float(np.mean(bars.close.astype(np.float64)))
    values = (
        1e4 * bars.tick_nano / price_nano,
        np.log1p(bars.volume.astype(np.float64).mean()),
        float(r.std()) * np.sqrt(calendar.SESSION_MINUTES),
        float(asset_class_code(bars.root)),
        _session_minutes(bars) / calendar.SESSION_MINUTES,
    )
    return np.array(values, dtype=np.float32)


def _session_minutes(bars: Bars) -> float:
    """Median minutes from a session's first bar to its last; cut ends do not move a median."""
    starts = calendar.session_starts(calendar.trade_date(bars.ts_event))
    ends = np.append(starts[1:], len(bars)) - 1
    spans = (bars.ts_event[ends] - bars.ts_event[starts]) / MINUTE_NS + 1.0
    return float(np.median(spans))
