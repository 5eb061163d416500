"""What a file of bars holds, in a dozen figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foxbench.bars import calendar
from foxbench.bars.schema import MINUTE_NS, Bars


@dataclass(frozen=True)
class Summary:
    """Figures of one series of bars.

    Attributes
    ----------
    root : str
    symbols : tuple of str
        The contracts that occur, in the order of their first bar.
    first_ns, last_ns : int
        Open of the first and last bar, ns UTC.
    sessions : int
        Trade dates with at least one bar.
    bars : int
    gaps : int
        Places inside a session where the next bar is more than a minute later.
    missing_minutes : int
        Minutes missing in those gaps together.
    off_session : int
        Bars in the daily break (16:00 to 17:00 CT) or on a weekend.
    stamped_at_close : bool
        The times look like bars' closes: bars at 16:00 CT, where a session has just ended, and
        none at 17:00, where it begins.
    """

    root: str
    symbols: tuple[str, ...]
    first_ns: int
    last_ns: int
    sessions: int
    bars: int
    gaps: int
    missing_minutes: int
    off_session: int
    stamped_at_close: bool


def summarise(bars: Bars) -> Summary:
    """The summary of bars that were checked; at least one bar."""
    dates = calendar.trade_date(bars.ts_event)
    minute = calendar.minute_ct(bars.ts_event)
    inside = dates[1:] == dates[:-1]
    steps = np.diff(bars.ts_event)[inside] // MINUTE_NS
    in_break = (minute >= calendar.CLOSE_MINUTE_CT) & (minute < calendar.OPEN_MINUTE_CT)
    codes, first_rows = np.unique(bars.symbol_codes, return_index=True)
    at_close = int((minute == calendar.CLOSE_MINUTE_CT).sum())
    starts = len(calendar.session_starts(dates))
    return Summary(
        root=bars.root,
        symbols=tuple(bars.symbols[int(c)] for c in codes[np.argsort(first_rows)]),
        first_ns=int(bars.ts_event[0]),
        last_ns=int(bars.ts_event[-1]),
        sessions=starts,
        bars=len(bars),
        gaps=int((steps > 1).sum()),
        missing_minutes=int((steps[steps > 1] - 1).sum()),
        off_session=int((in_break | (calendar.weekday(dates) > 4)).sum()),
        stamped_at_close=2 * at_close > starts
        and not bool((minute == calendar.OPEN_MINUTE_CT).any()),
    )
