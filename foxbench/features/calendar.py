"""Time of day, week and contract, and the price within its session: 20 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.bars import calendar
from foxbench.bars.schema import MINUTE_NS
from foxbench.features.frame import Frame, logs
from foxbench.features.rolling import Array

#: Chicago minutes: US share trading, London's and Asia's business hours.
_RTH, _LONDON, _ASIA = (510, 900), (120, 630), (1020, 120)
_QUARTER_DAYS = 91.0
_ROLL_WEEK_DAYS = 8

NAMES = (
    *("minute_sin_1", "minute_cos_1", "minute_sin_2", "minute_cos_2", "weekday_sin", "weekday_cos"),
    *("minutes_since_open", "regular_hours", "regular_hours_position", "london", "asia"),
    *("log_gap_minutes", "log_session_bars", "expiry_distance", "roll_week"),
    *("session_return", "below_session_high", "above_session_low", "since_last_session"),
    "session_volume_per_bar",
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    minute = calendar.minute_ct(f.ts_event).astype(np.float64)
    for harmonic in (1, 2):
        angle = 2.0 * np.pi * harmonic * minute / 1440.0
        yield f"minute_sin_{harmonic}", np.sin(angle)
        yield f"minute_cos_{harmonic}", np.cos(angle)
    angle = 2.0 * np.pi * calendar.weekday(f.date).astype(np.float64) / 5.0
    yield "weekday_sin", np.sin(angle)
    yield "weekday_cos", np.cos(angle)
    since_open = (minute - calendar.OPEN_MINUTE_CT) % 1440.0
    yield "minutes_since_open", since_open / calendar.SESSION_MINUTES
    yield "regular_hours", _flag((minute >= _RTH[0]) & (minute < _RTH[1]))
    yield "regular_hours_position", np.clip((minute - _RTH[0]) / 390.0, -1.0, 1.5)
    yield "london", _flag((minute >= _LONDON[0]) & (minute < _LONDON[1]))
    yield "asia", _flag((minute >= _ASIA[0]) | (minute < _ASIA[1]))
    gap = np.zeros(len(minute))
    gap[1:] = np.maximum(np.diff(f.ts_event) / MINUTE_NS - 1.0, 0.0)
    yield "log_gap_minutes", np.log1p(gap)

    session = _session_columns(f)
    yield "log_session_bars", session["log_session_bars"]
    days = calendar.days_to_expiry(f.date).astype(np.float64)
    yield "expiry_distance", days / _QUARTER_DAYS
    yield "roll_week", _flag(days <= _ROLL_WEEK_DAYS)
    for name in NAMES[15:]:
        yield name, session[name]


def _flag(condition: np.ndarray) -> Array:
    return condition.astype(np.float64)


def _session_columns(f: Frame) -> dict[str, Array]:
    """Features of the session so far, over the block's own rows.

    Everything begins at the session's first bar, which may lie before the halo.
    """
    names = ("log_session_bars", *NAMES[15:])
    out = {name: np.empty(f.end - f.first) for name in names}
    bars, p = f.market.bars, f.market.p
    for start, end in f.sessions():
        rows = slice(start, end)
        close = logs(bars.close[rows])
        high = np.maximum.accumulate(p[rows] + (logs(bars.high[rows]) - close))
        low = np.minimum.accumulate(p[rows] + (logs(bars.low[rows]) - close))
        opened = p[start] + (logs(bars.open[start : start + 1])[0] - close[0])
        # Before the first session's close there is only its own open.
        last = p[start - 1] if start > 0 else opened
        n_bars = np.arange(1.0, end - start + 1)
        volume = np.cumsum(bars.volume[rows].astype(np.float64))
        own = slice(max(start, f.first) - start, None)
        target = slice(max(start, f.first) - f.first, end - f.first)
        out["log_session_bars"][target] = np.log1p(n_bars[own])
        out["session_return"][target] = p[rows][own] - opened
        out["below_session_high"][target] = p[rows][own] - high[own]
        out["above_session_low"][target] = p[rows][own] - low[own]
        out["since_last_session"][target] = p[rows][own] - last
        out["session_volume_per_bar"][target] = np.log1p(volume[own]) - np.log1p(n_bars[own])
    return out
