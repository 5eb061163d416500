"""The CME Globex calendar in NumPy: Chicago time, sessions, holidays, expiries.

A session belongs to a *trade date* (Monday to Friday) and runs from 17:00 CT of the day before
to 16:00 CT: 1,380 minutes.  Sources: the US daylight-saving rule (Energy Policy Act of 2005,
valid from 2007), CME Group's holiday calendar for equity, FX and rate futures; every shortened
day is closed at 12:00 CT here, though some products run 15 or 75 minutes longer.
Dates are ``datetime64[D]`` or days since 1970-01-01; 1970-01-01 was a Thursday.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foxbench.bars.schema import DAY_NS, MINUTE_NS

SESSION_MINUTES = 1380
OPEN_MINUTE_CT = 17 * 60
CLOSE_MINUTE_CT = 16 * 60
EARLY_CLOSE_MINUTE_CT = 12 * 60
_HOUR_NS = 60 * MINUTE_NS
_MONDAY, _THURSDAY, _FRIDAY, _SUNDAY = 0, 3, 4, 6
_FIRST_YEAR, _LAST_YEAR = 2007, 2099


def weekday(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weekday of days since 1970-01-01, Monday = 0."""
    return (days + _THURSDAY) % 7


def nth_weekday(year: int, month: int, day_of_week: int, nth: int) -> int:
    """Days since 1970-01-01 of the nth such weekday of a month; -1 is the last one."""
    start = np.datetime64(f"{year:04d}-{month:02d}", "M")
    if nth < 0:
        last = int((start + 1).astype("datetime64[D]").astype(np.int64)) - 1
        return last - (last + _THURSDAY - day_of_week) % 7
    first = int(start.astype("datetime64[D]").astype(np.int64))
    return first + (day_of_week - first - _THURSDAY) % 7 + 7 * (nth - 1)


@lru_cache(maxsize=1)
def _transitions() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Instants (ns UTC) at which Chicago changes its clock, and the offset from then on (ns)."""
    at, offset = [], [-6 * _HOUR_NS]
    for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
        at.append(nth_weekday(year, 3, _SUNDAY, 2) * DAY_NS + 8 * _HOUR_NS)
        offset.append(-5 * _HOUR_NS)
        at.append(nth_weekday(year, 11, _SUNDAY, 1) * DAY_NS + 7 * _HOUR_NS)
        offset.append(-6 * _HOUR_NS)
    return np.array(at, dtype=np.int64), np.array(offset, dtype=np.int64)


def chicago_offset_ns(ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Chicago's offset from UTC in ns (negative): 2nd Sunday of March to 1st of November.

    Parameters
    ----------
    ts_ns : int64 array (n,)
        Nanoseconds since the epoch, UTC.
    """
    at, offset = _transitions()
    return offset[np.searchsorted(at, ts_ns, side="right")]


def chicago_ns(ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Chicago's wall clock, as ns since 1970-01-01 00:00 CT."""
    return ts_ns + chicago_offset_ns(ts_ns)


def trade_date(ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Trade date of each instant, days since 1970-01-01: a session begins at 17:00 CT."""
    return (chicago_ns(ts_ns) + 7 * _HOUR_NS) // DAY_NS


def minute_ct(ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Minute of Chicago's day, 0 to 1439."""
    return chicago_ns(ts_ns) % DAY_NS // MINUTE_NS


def session_starts(dates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows at which the trade date changes; the first row is one."""
    return np.flatnonzero(np.concatenate(([True], dates[1:] != dates[:-1])))


def easter(year: int) -> int:
    """Easter Sunday, days since 1970-01-01 (Meeus, Jones, Butcher: Gregorian computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return _day(year, month, day + 1)


@lru_cache(maxsize=200)
def holidays(year: int) -> tuple[frozenset[int], frozenset[int]]:
    """Trade dates without a session, and those closed at 12:00 CT.

    Parameters
    ----------
    year : int

    Returns
    -------
    closed, early : frozenset of int
        Days since 1970-01-01.
    """
    good_friday = easter(year) - 2
    christmas = _observed(_day(year, 12, 25))
    new_year = _day(year, 1, 1)
    # A Sunday's New Year is kept on Monday; a Saturday's is not kept on the Friday before.
    new_year += 1 if _weekday(new_year) == _SUNDAY else 0
    closed = frozenset({good_friday, christmas, new_year})
    thanksgiving = nth_weekday(year, 11, _THURSDAY, 4)
    early = {
        nth_weekday(year, 1, _MONDAY, 3),  # Martin Luther King
        nth_weekday(year, 2, _MONDAY, 3),  # Presidents
        nth_weekday(year, 5, _MONDAY, -1),  # Memorial
        _observed(_day(year, 7, 4)),  # Independence
        nth_weekday(year, 9, _MONDAY, 1),  # Labor
        thanksgiving,
        thanksgiving + 1,
        _day(year, 12, 24),
    }
    if year >= 2022:
        early.add(_observed(_day(year, 6, 19)))  # Juneteenth, an exchange holiday since 2022
    return closed, frozenset(early) - closed


def session_minutes(start: str, days: int) -> NDArray[np.int64]:
    """Opens of every trading minute of the trade dates in ``[start, start + days)``.

    Parameters
    ----------
    start : str
        ISO date.
    days : int
        Calendar days.

    Returns
    -------
    int64 array (n,)
        ns UTC, sorted.
    """
    first = int(np.datetime64(start, "D").astype(np.int64))
    opens, lengths = [], []
    for date in range(first, first + days):
        year = int(np.datetime64(date, "D").astype("datetime64[Y]").astype(np.int64)) + 1970
        closed, early = holidays(year)
        if _weekday(date) > _FRIDAY or date in closed:
            continue
        opens.append(date * DAY_NS - 7 * _HOUR_NS)
        early_minutes = 1440 - OPEN_MINUTE_CT + EARLY_CLOSE_MINUTE_CT
        lengths.append(early_minutes if date in early else SESSION_MINUTES)
    if not opens:
        return np.empty(0, dtype=np.int64)
    local = np.concatenate(
        [o + MINUTE_NS * np.arange(m, dtype=np.int64) for o, m in zip(opens, lengths, strict=True)]
    )
    # Clocks change on Sundays before the market opens, so one step from CT to UTC is exact:
    # the offset at (local + 6 h) is the offset at the instant itself.
    return local - chicago_offset_ns(local + 6 * _HOUR_NS)


def third_friday(year: int, month: int) -> int:
    """Third Friday of a month, days since 1970-01-01: expiry of quarterly futures."""
    return nth_weekday(year, month, _FRIDAY, 3)


@lru_cache(maxsize=1)
def expiries() -> NDArray[np.int64]:
    """Third Fridays of March, June, September, December, 2007 to 2099, as days, sorted."""
    years = range(_FIRST_YEAR, _LAST_YEAR + 1)
    return np.array([third_friday(y, m) for y in years for m in (3, 6, 9, 12)], dtype=np.int64)


def days_to_expiry(dates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Calendar days from each trade date to the next quarterly third Friday; 0 on the day."""
    table = expiries()
    return table[np.minimum(np.searchsorted(table, dates), len(table) - 1)] - dates


def _weekday(day: int) -> int:
    return (day + _THURSDAY) % 7


def _day(year: int, month: int, day: int) -> int:
    return int(np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "D").astype(np.int64))


def _observed(day: int) -> int:
    """A Saturday's holiday is kept on Friday, a Sunday's on Monday."""
    return day + {5: -1, _SUNDAY: 1}.get(_weekday(day), 0)
