"""Features of the newest bar as bars arrive, one at a time, in bounded memory.

The groups compute a row from the 512 rows before it, its session, the last price of the session
before, and exponential means.  So a bar's features need no more than a window of bars and the
values that the means have reached: :class:`LiveFeatures` keeps both, and what it returns is
:func:`foxbench.features.compute`'s row of the whole series up to rounding (measured: 1e-6 of a
feature's standard deviation).  One exception: in a market that has not moved for a whole window,
a deviation is 0 or its own rounding, and what is divided by it 0 or noise; the two need not agree.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foxbench.bars import calendar
from foxbench.bars.schema import DAY_NS, MINUTE_NS, Bars, check, iso
from foxbench.errors import DataError, UsageError
from foxbench.features import calendar as clock_features
from foxbench.features.frame import Frame, Market, logs
from foxbench.features.matrix import CLIP, GROUPS, HALO_ROWS, NAMES
from foxbench.features.rolling import Array

#: A trade date has 1,440 minutes (23 hours of trading and the hour between two sessions), and
#: the last price of the session before it is one bar more.
LEAST_HISTORY_BARS = DAY_NS // MINUTE_NS + 1
#: Bars kept, and read at the start.  Ten spans of the longest exponential mean (240 bars): what
#: came before them weighs e^-20 = 2e-9 in it, below the resolution of float32.
HISTORY_BARS = 2_400

#: Features that follow from the clock alone, so that those of bars to come are known.
CLOCK_NAMES = (*clock_features.NAMES[:11], "expiry_distance", "roll_week")

_BAR_COLUMNS = ("ts_event", "open", "high", "low", "close", "volume")
_ID_COLUMNS = ("instrument_id", "symbol_codes")
_MARKET_COLUMNS = ("r", "p", "date")
#: Calendar days that always hold a session's rest and the next session: a weekend and holidays.
_DAYS_AHEAD = 6


class RecentMarket(Market):
    """The last bars of a market, and what features read of them; grows at its end only.

    The arrays have room for twice ``history`` bars.  When they are full the newest ``history``
    move to the front, so that a bar costs no copy of the others.

    Parameters
    ----------
    bars : Bars
        At most ``history``; at least one.
    history : int
    """

    def __init__(self, bars: Bars, history: int) -> None:
        super().__init__(bars)
        self._history = history
        self._room: dict[str, NDArray[Any]] = {}
        for name in (*_BAR_COLUMNS, *_ID_COLUMNS, *_MARKET_COLUMNS):
            seen = getattr(self if name in _MARKET_COLUMNS else bars, name)
            self._room[name] = np.zeros(2 * history, dtype=seen.dtype)
            self._room[name][: len(bars)] = seen
        self._like = bars[:0]
        self._show(len(bars))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self._room.values())

    def append(self, bar: Bars) -> None:
        """Add one bar, which is later than the last."""
        n = len(self.bars)
        if n == 2 * self._history:
            for array in self._room.values():
                array[: self._history] = array[self._history :]
            n = self._history
        for name in (*_BAR_COLUMNS, *_ID_COLUMNS):
            self._room[name][n] = getattr(bar, name)[0]
        ids = self._room["instrument_id"]
        before = logs(bar.open) if ids[n] != ids[n - 1] else logs(self._room["close"][n - 1 : n])
        r = (logs(bar.close) - before)[0]
        self._room["r"][n] = r
        self._room["p"][n] = self._room["p"][n - 1] + r
        self._room["date"][n] = calendar.trade_date(bar.ts_event)[0]
        self._show(n + 1)

    def _show(self, n: int) -> None:
        """Make the first ``n`` rows of the arrays the market."""
        shown = {name: array[:n] for name, array in self._room.items()}
        self.r, self.p, self.date = (shown.pop(name) for name in _MARKET_COLUMNS)
        like = self._like
        self.bars = Bars(
            **shown,
            symbols=like.symbols,
            root=like.root,
            tick_nano=like.tick_nano,
            source=like.source,
        )
        self.starts = calendar.session_starts(self.date)


class LiveFeatures:
    """The newest rows of the feature matrix, as bars arrive.

    Parameters
    ----------
    bars : Bars
        What came before the first live bar; the last ``history`` are read and copied.
    rows : int
        Rows of features kept: a model's window.
    history : int
        Bars kept, at least ``LEAST_HISTORY_BARS``.

    Raises
    ------
    DataError
        Bars that no market can have, or fewer than ``rows``.
    UsageError
        ``history`` below its least, or below ``rows``.

    Notes
    -----
    Where ``bars`` holds the series from its first bar, within ``history``, the exponential means
    are those of the whole series; otherwise they begin ``history`` bars ago.
    """

    def __init__(self, bars: Bars, rows: int = 1, history: int = HISTORY_BARS) -> None:
        least = max(LEAST_HISTORY_BARS, rows)
        if history < least:
            raise UsageError(f"history is {history} bars", f"ask for at least {least}")
        bars = bars[max(0, len(bars) - history) :]
        check(bars, bars.source or bars.root)
        if len(bars) < rows:
            raise DataError(
                f"{bars.root}: {len(bars)} bars before the first live one, {rows} needed",
                f"give at least {rows} bars",
            )
        self.rows = rows
        self.market = RecentMarket(bars, history)
        self._carried: dict[str, float] = {}
        # As with the bars: room for twice the rows, the newest move to the front when it is full.
        self._matrix = np.zeros((2 * rows, len(NAMES)), dtype=np.float32)
        self._matrix[:rows] = self._newest(Frame(self.market, 0, len(bars), 0, self._carried), rows)
        self._filled = rows

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return self.market.nbytes + self._matrix.nbytes

    @property
    def r(self) -> float:
        """Log return of the newest bar."""
        return float(self.market.r[-1])

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The newest rows, float32 (rows, 225), oldest first, raw; a view until the next bar."""
        return self._matrix[self._filled - self.rows : self._filled]

    def push(self, bar: Bars) -> NDArray[np.float32]:
        """Take in one bar; returns :attr:`matrix`, whose last row is this bar's.

        Raises
        ------
        DataError
            Not one bar, not later than the last, of another root or tick, or with values that no
            market can have.
        """
        self._check(bar)
        self.market.append(bar)
        n = len(self.market.bars)
        frame = Frame(self.market, n - 1, n, min(HALO_ROWS, n - 1), self._carried)
        if self._filled == 2 * self.rows:
            self._matrix[: self.rows] = self._matrix[self.rows :]
            self._filled = self.rows
        self._matrix[self._filled] = self._newest(frame, 1)
        self._filled += 1
        return self.matrix

    def _newest(self, frame: Frame, rows: int) -> NDArray[np.float32]:
        """Last ``rows`` rows of all columns; the exponential means move on to the frame's end."""
        columns = [values[-rows:] for group in GROUPS for _, values in group.columns(frame)]
        values = np.stack(columns, axis=1)
        if not np.isfinite(values).all():
            name = NAMES[int(np.argwhere(~np.isfinite(values))[0][1])]
            at = iso(int(self.market.bars.ts_event[-1]))
            raise DataError(f"feature {name} is not finite at {at}")
        found: NDArray[np.float32] = np.clip(values, -CLIP, CLIP).astype(np.float32)
        return found

    def _check(self, bar: Bars) -> None:
        known = self.market.bars
        if len(bar) != 1:
            raise DataError(f"{len(bar)} bars at once", "push one at a time: bars[t : t + 1]")
        where = f"{bar.root} {iso(int(bar.ts_event[0]))}"
        check(bar, where)
        if (bar.root, bar.tick_nano) != (known.root, known.tick_nano):
            raise DataError(
                f"{where}: tick {bar.tick_nano} after {known.root} of tick {known.tick_nano}",
                "keep one LiveFeatures an instrument",
            )
        if bar.ts_event[0] <= known.ts_event[-1]:
            raise DataError(
                f"{where}: not later than the last bar, {iso(int(known.ts_event[-1]))}",
                "push bars in the order of their time, each once",
            )


def upcoming(ts_ns: int, n: int) -> NDArray[np.int64]:
    """Opens of the next ``n`` minutes of trading after ``ts_ns``, ns UTC.

    A bar is missing where nobody trades, so the bars to come may be later than that, never
    earlier.  ``n`` is at most 60.
    """
    date = int(calendar.trade_date(np.array([ts_ns]))[0])
    minutes = _minutes_from(date)
    first = int(np.searchsorted(minutes, ts_ns, side="right"))
    return minutes[first : first + n]


@lru_cache(maxsize=2)
def _minutes_from(date: int) -> NDArray[np.int64]:
    return calendar.session_minutes(str(np.datetime64(date, "D")), _DAYS_AHEAD)


def clock(ts_event: NDArray[np.int64]) -> dict[str, Array]:
    """The features ``CLOCK_NAMES`` of bars that open at ``ts_event``, whatever their prices.

    Parameters
    ----------
    ts_event : int64 array (n,)
        ns UTC, rising.

    Returns
    -------
    dict of float64 array (n,)
    """
    n = len(ts_event)
    price = np.full(n, 10**9, dtype=np.int64)
    bars = Bars(
        ts_event=ts_event,
        open=price,
        high=price,
        low=price,
        close=price,
        volume=np.ones(n, dtype=np.uint64),
        instrument_id=np.zeros(n, dtype=np.uint32),
        symbol_codes=np.zeros(n, dtype=np.int32),
        symbols=("clock",),
        root="clock",
        tick_nano=1,
        source="clock",
    )
    columns = dict(clock_features.columns(Frame(Market(bars), 0, n, 0, {})))
    return {name: columns[name] for name in CLOCK_NAMES}
