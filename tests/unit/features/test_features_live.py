"""One bar at a time gives the rows of the whole series, from a bounded past."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from foxbench.bars import calendar
from foxbench.bars.synthetic import synthetic
from foxbench.errors import DataError, UsageError
from foxbench.features import NAMES, WARMUP, compute
from foxbench.features.frame import Market
from foxbench.features.live import (
    CLOCK_NAMES,
    HISTORY_BARS,
    LEAST_HISTORY_BARS,
    LiveFeatures,
    RecentMarket,
    clock,
    upcoming,
)
from foxbench.features.matrix import BLOCK_ROWS

#: Of a feature's standard deviation: a model's input moves by no more than that.
TOLERANCE = 5e-6


def pushed(bars, first, end, **options):
    """Rows ``first`` to ``end - 1``, live."""
    live = LiveFeatures(bars[:first], **options)
    return np.stack([live.push(bars[t : t + 1])[-1].copy() for t in range(first, end)])


def worst(got, want, sd):
    """The largest difference in standard deviations, and the feature that has it."""
    error = np.abs(got.astype(np.float64) - want).max(axis=0) / np.where(sd > 0, sd, 1.0)
    return float(error.max()), NAMES[int(error.argmax())]


@pytest.fixture(scope="session")
def sd(month_features):
    return month_features[WARMUP:].std(axis=0)


def session_start(month, after):
    starts = calendar.session_starts(calendar.trade_date(month.ts_event))
    return int(starts[starts > after][0])


def roll(month):
    return int(np.flatnonzero(np.diff(month.instrument_id.astype(np.int64)))[0]) + 1


@pytest.mark.parametrize(
    ("at", "before"),
    [
        pytest.param(lambda m: WARMUP + 40, 40, id="the series' beginning"),
        pytest.param(lambda m: session_start(m, 5_000), 40, id="a new session"),
        pytest.param(lambda m: session_start(m, 5_000) + 1_375, 10, id="a session's last bars"),
        pytest.param(roll, 40, id="a roll"),
        pytest.param(lambda m: BLOCK_ROWS, 10, id="a block's edge"),
    ],
)
def test_live_rows_are_those_of_the_whole_series_across(month, month_features, sd, at, before):
    middle = at(month)
    rows = slice(middle - before, middle + 40)
    got = pushed(month, rows.start, rows.stop)
    error, name = worst(got, month_features[rows], sd)
    assert error < TOLERANCE, name


def test_live_rows_know_a_still_market_and_missing_minutes(rough):
    whole = compute(rough)
    sd = whole[100:].std(axis=0)
    rows = slice(490, 560)  # flat bars without volume from 497 to 536
    got = pushed(rough, rows.start, rows.stop)
    # Where nothing has moved for 20 bars, a deviation is 0 or its own rounding: it may be either.
    moves = np.convolve(Market(rough).r != 0, np.ones(20), "full")[rows] > 0
    assert 10 < np.count_nonzero(~moves) < 30
    error, name = worst(got[moves], whole[rows][moves], sd)
    assert error < TOLERANCE, name
    differs = np.abs(got[~moves] - whole[rows][~moves]) / np.where(sd > 0, sd, 1.0) > TOLERANCE
    assert np.count_nonzero(differs) <= 5


def test_the_least_history_is_enough_for_all_but_the_longest_means(month, month_features, sd):
    # The last bar of a session reads the session's first bar and the one before it.
    last = session_start(month, 8_000) - 1
    got = pushed(month, last, last + 1, history=LEAST_HISTORY_BARS)
    exact = [i for i, name in enumerate(NAMES) if name != "ema_distance_240"]
    error, name = worst(got[:, exact], month_features[last : last + 1, exact], sd[exact])
    assert error < 1e-4, name


def test_a_shorter_history_would_lose_the_session_before(month):
    last = session_start(month, 8_000) - 1
    column = NAMES.index("since_last_session")
    whole = compute(month[: last + 1])[-1, column]
    cut = compute(month[last - 1_300 : last + 1])[-1, column]
    assert abs(whole - cut) > 1e-6


def test_a_window_of_rows_is_the_end_of_the_matrix(month, month_features, sd):
    live = LiveFeatures(month[:3_000], rows=7)
    assert live.matrix.shape == (7, len(NAMES))
    error, name = worst(live.matrix, month_features[2_993:3_000], sd)
    assert error < TOLERANCE, name
    for t in range(3_000, 3_020):  # through the buffer's end, at 14 rows
        got = live.push(month[t : t + 1])
        error, name = worst(got, month_features[t - 6 : t + 1], sd)
        assert error < TOLERANCE, name


def test_the_live_return_is_the_bars_own(month):
    first = roll(month)
    live = LiveFeatures(month[:first])
    live.push(month[first : first + 1])
    assert live.r == pytest.approx(Market(month).r[first], abs=1e-15)


def test_a_recent_market_is_the_end_of_the_whole_one_however_long_it_runs(month):
    whole, history = Market(month), 300
    recent = RecentMarket(month[:200], history)
    size = recent.nbytes
    for t in range(200, 1_700):
        recent.append(month[t : t + 1])
        n = len(recent.bars)
        assert min(t + 1, history) <= n <= 2 * history
        if t % 97 == 0:
            rows = slice(t + 1 - n, t + 1)
            assert np.array_equal(recent.bars.close, month.close[rows])
            assert np.array_equal(recent.bars.ts_event, month.ts_event[rows])
            assert np.array_equal(recent.date, whole.date[rows])
            np.testing.assert_allclose(recent.r, whole.r[rows], rtol=0, atol=1e-15)
            np.testing.assert_allclose(recent.p, whole.p[rows], rtol=0, atol=1e-12)
    assert recent.nbytes == size


def test_what_is_kept_does_not_grow(month):
    live = LiveFeatures(month[:3_000])
    live.push(month[3_000:3_001])
    size, means = live.nbytes, len(live._carried)
    for t in range(3_001, 3_020):
        live.push(month[t : t + 1])
    assert (live.nbytes, len(live._carried)) == (size, means)
    assert size < 2 * HISTORY_BARS * 80 + 10_000


#: glibc's heap in use after bars 150 and 650 of one session.
SESSION_HEAP = """
import ctypes, gc
from foxbench.bars.synthetic import synthetic
from foxbench.features.live import LiveFeatures

class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Mallinfo2

def heap_bytes():
    gc.collect()
    found = mallinfo2()
    return found.uordblks + found.hblkhd

bars = synthetic("ES", days=5, start="2025-06-02", seed=5)
first = 3 * 1380
live = LiveFeatures(bars[:first])
assert live.market.starts[-1] < len(live.market.bars)
heap = []
for i in range(650):
    live.push(bars[first + i : first + i + 1])
    if i in (149, 649):
        heap.append(heap_bytes())
print(len(set(live.market.date[-650:].tolist())), heap[1] - heap[0])
"""


def test_a_session_that_gets_longer_fills_no_cache_of_numpys():
    # Of masks over the session so far, two a bar, numpy kept 350 kB by then.
    out = subprocess.check_output([sys.executable, "-c", SESSION_HEAP], text=True)
    sessions, rise_bytes = map(int, out.split())
    assert sessions == 1
    assert rise_bytes < 64 * 1024


def test_a_bar_that_is_no_later_than_the_last_is_refused(month):
    live = LiveFeatures(month[:600])
    with pytest.raises(DataError, match="not later than the last bar"):
        live.push(month[599:600])


def test_a_bar_of_another_instrument_is_refused(month):
    live = LiveFeatures(month[:600])
    with pytest.raises(DataError, match="NQ"):
        live.push(replace(month[600:601], root="NQ"))


def test_two_bars_at_once_are_refused(month):
    with pytest.raises(DataError, match="2 bars at once"):
        LiveFeatures(month[:600]).push(month[600:602])


def test_a_bar_no_market_can_have_is_refused_and_leaves_the_past_alone(month, month_features, sd):
    live = LiveFeatures(month[:3_000])
    bar = month[3_000:3_001]
    with pytest.raises(DataError, match="below"):
        live.push(replace(bar, high=bar.low - bar.tick_nano))
    error, name = worst(live.push(bar), month_features[3_000:3_001], sd)
    assert error < TOLERANCE, name


def test_a_history_that_cannot_hold_a_day_is_refused(month):
    with pytest.raises(UsageError, match="at least 1441"):
        LiveFeatures(month[:600], history=1_440)


def test_fewer_bars_than_rows_are_refused(month):
    with pytest.raises(DataError, match="60 needed"):
        LiveFeatures(month[:50], rows=60)


def test_the_clock_of_bars_to_come_is_that_of_their_features(month, month_features):
    rows = slice(session_start(month, 5_000) - 20, session_start(month, 5_000) + 20)
    known = clock(month.ts_event[rows])
    assert tuple(known) == CLOCK_NAMES
    for name, values in known.items():
        want = month_features[rows, NAMES.index(name)]
        assert np.array_equal(values.astype(np.float32), want), name


def test_upcoming_minutes_are_those_of_the_calendar_over_nights_and_weekends():
    # Over Independence Day: an early close, and no session on the day before a weekend.
    bars = synthetic("ES", days=12, start="2025-06-30")
    minutes = calendar.session_minutes("2025-06-30", 20)
    for ts in bars.ts_event[::61]:
        after = minutes[np.searchsorted(minutes, ts, side="right") :]
        assert np.array_equal(upcoming(int(ts), 10), after[:10])
