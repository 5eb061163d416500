from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from foxbench.bars import calendar
from foxbench.bars.schema import DAY_NS, MINUTE_NS

CHICAGO = ZoneInfo("America/Chicago")


def ns(*when):
    """ns UTC of a Chicago wall clock time."""
    return int(datetime(*when, tzinfo=CHICAGO).timestamp()) * 10**9


def day(text):
    return int(np.datetime64(text, "D").astype(np.int64))


def test_chicagos_offset_agrees_with_the_zone_database_every_hour_of_ten_years():
    start = datetime(2018, 1, 1, tzinfo=timezone.utc)
    hours = [start + timedelta(hours=h) for h in range(10 * 365 * 24)]
    ours = calendar.chicago_offset_ns(
        np.array([int(h.timestamp()) * 10**9 for h in hours], dtype=np.int64)
    )
    zone = np.array([h.astimezone(CHICAGO).utcoffset().total_seconds() for h in hours])
    np.testing.assert_array_equal(ours, (zone * 1e9).astype(np.int64))


@pytest.mark.parametrize(
    ("utc", "hours"),
    [
        ("2025-03-09T07:59:59.999999999", -6),
        ("2025-03-09T08:00:00", -5),
        ("2025-11-02T06:59:59.999999999", -5),
        ("2025-11-02T07:00:00", -6),
    ],
)
def test_clocks_change_at_two_in_the_morning_to_the_nanosecond(utc, hours):
    at = np.array([np.datetime64(utc, "ns").astype(np.int64)])
    assert calendar.chicago_offset_ns(at)[0] == hours * 3600 * 10**9


def test_a_session_begins_at_five_in_the_afternoon_of_the_day_before():
    times = np.array([ns(2025, 4, 20, 17), ns(2025, 4, 21, 15, 59), ns(2025, 4, 21, 17)])
    assert calendar.trade_date(times).tolist() == [
        day("2025-04-21"),
        day("2025-04-21"),
        day("2025-04-22"),
    ]
    assert calendar.minute_ct(times).tolist() == [1020, 959, 1020]
    assert calendar.session_starts(calendar.trade_date(times)).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("date", "name"),
    [("2024-03-31", "Easter"), ("2025-04-20", "Easter"), ("2038-04-25", "Easter")],
)
def test_easter_falls_where_the_church_puts_it(date, name):
    assert calendar.easter(int(date[:4])) == day(date)


@pytest.mark.parametrize(
    ("date", "kind"),
    [
        ("2025-04-18", "closed"),  # Good Friday
        ("2024-12-25", "closed"),
        ("2021-12-24", "closed"),  # Christmas on a Saturday
        ("2022-12-26", "closed"),  # Christmas on a Sunday
        ("2024-01-01", "closed"),
        ("2023-01-02", "closed"),  # New Year on a Sunday
        ("2021-12-31", "open"),  # New Year on a Saturday is not kept
        ("2025-01-20", "early"),
        ("2025-02-17", "early"),
        ("2025-05-26", "early"),
        ("2025-06-19", "early"),
        ("2021-06-18", "open"),  # before Juneteenth was one
        ("2025-07-04", "early"),
        ("2025-09-01", "early"),
        ("2025-11-27", "early"),
        ("2025-11-28", "early"),
        ("2025-12-24", "early"),
        ("2025-10-13", "open"),  # Columbus Day is no exchange holiday
    ],
)
def test_holidays_close_the_market_or_shorten_its_day(date, kind):
    closed, early = calendar.holidays(int(date[:4]))
    assert ("closed" if day(date) in closed else "early" if day(date) in early else "open") == kind
    opens = calendar.session_minutes(date, 1)
    assert len(opens) == {"closed": 0, "early": 1140, "open": 1380}[kind]


def test_a_week_is_five_sessions_of_1380_minutes_without_weekend_or_break():
    opens = calendar.session_minutes("2025-04-21", 7)
    assert len(opens) == 5 * 1380
    assert opens[0] == ns(2025, 4, 20, 17)
    assert opens[-1] == ns(2025, 4, 25, 15, 59)
    minute = calendar.minute_ct(opens)
    assert not ((minute >= 960) & (minute < 1020)).any()
    assert np.unique(np.diff(opens)).tolist() == [MINUTE_NS, 61 * MINUTE_NS]


@pytest.mark.parametrize(
    ("start", "before", "after"), [("2025-03-07", 23, 22), ("2025-10-31", 22, 23)]
)
def test_over_a_clock_change_sessions_keep_chicagos_hours(start, before, after):
    opens = calendar.session_minutes(start, 5)
    starts = opens[calendar.session_starts(calendar.trade_date(opens))]
    hours = (starts % DAY_NS // (60 * MINUTE_NS)).tolist()
    assert hours == [before, after, after]
    assert (calendar.minute_ct(starts) == 1020).all()


def test_every_minute_of_a_year_is_there_once_and_in_order():
    opens = calendar.session_minutes("2024-01-01", 366)
    assert (np.diff(opens) > 0).all()
    # 262 weekdays, three closed, nine cut short by four hours.
    assert len(opens) == (262 - 3) * 1380 - 9 * 240


def test_days_to_expiry_count_down_to_the_third_friday_of_the_quarter():
    dates = np.array([day(d) for d in ("2025-06-12", "2025-06-20", "2025-06-21", "2025-09-19")])
    assert calendar.days_to_expiry(dates).tolist() == [8, 0, 90, 0]


def test_weekdays_begin_with_monday():
    assert calendar.weekday(np.array([day("2025-04-21"), day("2025-04-27")])).tolist() == [0, 6]


def test_the_last_monday_of_may_is_found_from_the_end():
    assert calendar.nth_weekday(2025, 5, 0, -1) == day("2025-05-26")
    assert calendar.nth_weekday(2024, 5, 4, -1) == day("2024-05-31")
