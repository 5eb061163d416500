import numpy as np
import pytest
from bar_making import changed, make_bars

from foxbench.bars.schema import check, iso, price_text
from foxbench.errors import DataError


def test_a_slice_keeps_root_and_symbols_and_shares_memory(five):
    part = five[1:4]
    assert len(part) == 3
    assert part.root == "ES"
    assert part.symbol_at(0) == "ESM5"
    assert np.shares_memory(part.close, five.close)
    assert part.ts_event[0] == five.ts_event[1]


def test_a_single_row_is_not_an_index(five):
    with pytest.raises(TypeError, match="slice"):
        five[0]


def test_an_array_of_another_dtype_is_refused_with_its_name(five):
    with pytest.raises(DataError, match=r"volume is int64\[5\], expected uint64\[5\]"):
        make_bars(volume=five.volume.astype(np.int64))


def test_an_array_of_another_length_is_refused_with_its_name(five):
    with pytest.raises(DataError, match=r"high is int64\[4\], expected int64\[5\]"):
        make_bars(high=five.high[:4])


def test_a_tick_of_zero_is_refused():
    with pytest.raises(DataError, match="tick_nano is 0"):
        make_bars(tick_nano=0)


@pytest.mark.parametrize("column", ["open", "high", "low", "close"])
@pytest.mark.parametrize("price", [0, -250_000_000])
def test_a_price_that_is_not_positive_is_refused_with_column_row_and_time(five, column, price):
    bars = make_bars(**{column: changed(getattr(five, column), 3, price)})
    with pytest.raises(DataError) as caught:
        check(bars, "es.parquet")
    assert f"es.parquet: column {column}, row 3 (2025-04-20T22:03:00Z)" in str(caught.value)
    assert "not positive" in str(caught.value)
    assert caught.value.remedy


def test_a_high_below_the_close_is_refused_with_both_prices(five):
    bars = make_bars(high=changed(five.high, 2, five.close[2] - 250_000_000))
    with pytest.raises(DataError, match=r"column high, row 2 .*high 5600.25 is below open 5600.5"):
        check(bars, "x")


def test_a_low_above_the_open_is_refused_with_both_prices(five):
    bars = make_bars(low=changed(five.low, 4, five.close[4] + 250_000_000))
    with pytest.raises(DataError, match=r"column low, row 4 .*low 5601.25 is above open 5601"):
        check(bars, "x")


def test_times_that_fall_are_refused_as_unsorted(five):
    bars = make_bars(ts_event=changed(five.ts_event, 2, five.ts_event[0] - 1))
    with pytest.raises(DataError, match=r"column ts_event, row 2 .*unsorted: earlier than row 1"):
        check(bars, "x")


def test_times_that_repeat_are_refused_as_duplicate(five):
    bars = make_bars(ts_event=changed(five.ts_event, 3, five.ts_event[2]))
    with pytest.raises(DataError, match=r"row 3 .*duplicate: the same minute as row 2"):
        check(bars, "x")


def test_no_bars_at_all_are_refused(five):
    with pytest.raises(DataError, match="no rows"):
        check(five[:0], "x")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (1_704_150_060_000_000_000, "2024-01-01T23:01:00Z"),
    ],
)
def test_times_are_written_to_the_second_unless_they_have_a_fraction(ns, text):
    assert iso(ns) == text


@pytest.mark.parametrize(
    ("nano", "text"),
    [(1_107_850_000, "1.10785"), (-1, "-0.000000001"), (5600 * 10**9, "5600"), (0, "0")],
)
def test_prices_are_written_exactly(nano, text):
    assert price_text(nano) == text
