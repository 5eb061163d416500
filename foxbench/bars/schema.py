"""The one in-memory form of bars, and the checks every source of bars goes through.

Prices are whole numbers of 1e-9 (the scale of Databento's DBN), so they survive every round trip
exactly; times are nanoseconds since the epoch, UTC, of the bar's *open*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foxbench.errors import DataError

PRICE_COLUMNS = ("open", "high", "low", "close")
MINUTE_NS = 60_000_000_000
DAY_NS = 1440 * MINUTE_NS

_DTYPES = {
    "ts_event": np.int64,
    "open": np.int64,
    "high": np.int64,
    "low": np.int64,
    "close": np.int64,
    "volume": np.uint64,
    "instrument_id": np.uint32,
    "symbol_codes": np.int32,
}


@dataclass(frozen=True, eq=False)
class Bars:
    """One-minute bars of one root, sorted by time, one a minute at most.

    Attributes
    ----------
    ts_event : int64 array (n,)
        The bar's open, nanoseconds since 1970-01-01 UTC.
    open, high, low, close : int64 array (n,)
        Prices in units of 1e-9.
    volume : uint64 array (n,)
        Contracts traded.
    instrument_id : uint32 array (n,)
        Changes where the series rolls to another contract.
    symbol_codes : int32 array (n,)
        Index into ``symbols``.
    symbols : tuple of str
        Raw symbols, e.g. ``("ESM5", "ESU5")``.
    root : str
        ``ES``, ``NQ``, ``6E``, ``ZN`` or the user's own.
    tick_nano : int
        The smallest price step, in units of 1e-9.
    source : str
        Where the bars came from, for people.

    Raises
    ------
    DataError
        When an array has another dtype or length than the others.  The *values* are checked by
        :func:`check`.
    """

    ts_event: NDArray[np.int64]
    open: NDArray[np.int64]
    high: NDArray[np.int64]
    low: NDArray[np.int64]
    close: NDArray[np.int64]
    volume: NDArray[np.uint64]
    instrument_id: NDArray[np.uint32]
    symbol_codes: NDArray[np.int32]
    symbols: tuple[str, ...]
    root: str
    tick_nano: int
    source: str

    def __post_init__(self) -> None:
        n = self.ts_event.shape[0] if self.ts_event.ndim == 1 else -1
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != (n,):
                raise DataError(
                    f"bars of {self.root}: {name} is {array.dtype}{list(array.shape)}, "
                    f"expected {np.dtype(dtype)}[{n}]",
                    f"convert the array: {name}.astype(np.{np.dtype(dtype)})",
                )
        if self.tick_nano <= 0:
            raise DataError(
                f"bars of {self.root}: tick_nano is {self.tick_nano}, expected a positive integer",
                "pass the contract's price step in units of 1e-9",
            )

    def __len__(self) -> int:
        return int(self.ts_event.shape[0])

    def __getitem__(self, rows: slice) -> Bars:
        """The bars of a slice, as views; every symbol name is kept."""
        if not isinstance(rows, slice):
            raise TypeError(f"bars take a slice, not {type(rows).__name__}: bars[a:b]")
        return replace(self, **{name: getattr(self, name)[rows] for name in _DTYPES})

    def symbol_at(self, row: int) -> str:
        """Raw symbol of one row."""
        return self.symbols[int(self.symbol_codes[row])]


def iso(ts_ns: int | np.int64) -> str:
    """``ts_ns`` as ISO 8601 to the second (longer only where it has a fraction), UTC."""
    text = str(np.datetime64(int(ts_ns), "ns")).rstrip("0").rstrip(".")
    whole = str(np.datetime64(int(ts_ns) // 1_000_000_000, "s"))
    return (whole if int(ts_ns) % 1_000_000_000 == 0 else text) + "Z"


def check(bars: Bars, where: str) -> None:
    """Refuse bars whose values no market can have.

    Parameters
    ----------
    bars : Bars
    where : str
        File name (or other origin) that the message begins with.

    Raises
    ------
    DataError
        No rows, a price that is not positive, high below or low above open or close, times that
        fall (unsorted) or repeat (duplicate).  Names column, 0-based row and timestamp.
    """
    if len(bars) == 0:
        raise DataError(f"{where}: no rows", "give a file with at least one bar")
    for name in PRICE_COLUMNS:
        prices: NDArray[np.int64] = getattr(bars, name)

        def not_positive(i: int, prices: NDArray[np.int64] = prices) -> str:
            return f"price {price_text(prices[i])} is not positive"

        _refuse(
            bars,
            prices <= 0,
            where,
            name,
            not_positive,
            "drop the row, or (a spread) keep outright contracts only",
        )
    ceiling = np.maximum(bars.open, bars.close)
    _refuse(
        bars,
        bars.high < ceiling,
        where,
        "high",
        lambda i: (
            f"high {price_text(bars.high[i])} is below "
            f"{'open' if bars.open[i] >= bars.close[i] else 'close'} {price_text(ceiling[i])}"
        ),
        "drop the row or fetch it again: open, high, low and close disagree",
    )
    floor = np.minimum(bars.open, bars.close)
    _refuse(
        bars,
        bars.low > floor,
        where,
        "low",
        lambda i: (
            f"low {price_text(bars.low[i])} is above "
            f"{'open' if bars.open[i] <= bars.close[i] else 'close'} {price_text(floor[i])}"
        ),
        "drop the row or fetch it again: open, high, low and close disagree",
    )
    earlier = np.zeros(len(bars), dtype=np.bool_)
    earlier[1:] = bars.ts_event[1:] < bars.ts_event[:-1]
    _refuse(
        bars,
        earlier,
        where,
        "ts_event",
        lambda i: f"unsorted: earlier than row {i - 1} ({iso(bars.ts_event[i - 1])})",
        "sort the rows by ts_event",
    )
    same = np.zeros(len(bars), dtype=np.bool_)
    same[1:] = bars.ts_event[1:] == bars.ts_event[:-1]
    _refuse(
        bars,
        same,
        where,
        "ts_event",
        lambda i: f"duplicate: the same minute as row {i - 1}",
        "keep one row a minute (of several contracts, the one with most volume)",
    )


def price_text(nano: int | np.int64) -> str:
    """A price of 1e-9 units as an exact decimal, e.g. ``1.10785``."""
    sign, digits = ("-" if nano < 0 else ""), abs(int(nano))
    return f"{sign}{digits // 10**9}.{digits % 10**9:09d}".rstrip("0").rstrip(".")


def _refuse(
    bars: Bars,
    bad: NDArray[np.bool_],
    where: str,
    column: str,
    what: Callable[[int], str],
    remedy: str,
) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}: column {column}, row {row} ({iso(bars.ts_event[row])}): {what(row)}", remedy
        )
