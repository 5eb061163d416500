"""The search against devices whose true need is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.fit import search
from foxbench.fit.search import CLOSE, MAX_TRIALS, Bounds, Outcome

MIB = 2**20


def run(need, limit, start=64, smallest=1, cap=2**31, forecast=None, multiple=1, farthest=2**31):
    """Search where a size really needs ``need(size)``; ``forecast`` defaults to the truth."""
    tried = []

    def attempt(value, _predicted):
        assert value == round_down(value), "a size that is not valid was tried"
        assert smallest <= value <= cap
        assert value not in tried, "a size was tried twice"
        tried.append(value)
        fits = need(value) <= limit
        return Outcome(fits, need(value) if fits else None)

    def round_down(value):
        return max(multiple, value // multiple * multiple)

    def known(value):
        return (forecast or need)(value) if tried else None

    bounds = search.search(start, smallest, cap, limit, known, attempt, round_down, farthest)
    return bounds, tried


def line(base, slope):
    return lambda value: base + slope * value


def test_with_an_exact_forecast_three_trainings_are_enough():
    bounds, tried = run(line(200 * MIB, 10_000), 2**32)
    truth = (2**32 - 200 * MIB) // 10_000
    assert bounds == Bounds(truth, int(truth * CLOSE), False)
    assert tried == [64, truth, int(truth * CLOSE)]


@given(
    base=st.integers(0, 2**30),
    slope=st.integers(1, 2**24),
    limit=st.integers(2**20, 2**34),
    off=st.floats(0.7, 1.4),
    start=st.integers(1, 4096),
    multiple=st.sampled_from([1, 2, 32, 48]),
)
def test_what_is_named_fits_and_what_is_called_too_large_does_not(
    base, slope, limit, off, start, multiple
):
    need = line(base, slope)
    bounds, tried = run(
        need, limit, start, multiple, forecast=line(base, slope * off), multiple=multiple
    )
    assert len(tried) <= MAX_TRIALS
    if bounds.fits is None:
        assert need(min(tried)) > limit
        if len(tried) < MAX_TRIALS:
            assert need(multiple) > limit
        return
    assert need(bounds.fits) <= limit
    if bounds.too_large is not None:
        assert need(bounds.too_large) > limit


@pytest.mark.parametrize("off", [0.8, 0.9, 0.98, 1.0, 1.02, 1.1, 1.3])
def test_a_forecast_that_is_off_still_ends_close(off):
    need = line(300 * MIB, 9_000)
    bounds, tried = run(need, 2**31, forecast=line(300 * MIB, 9_000 * off))
    assert bounds.too_large <= bounds.fits * CLOSE + 1
    assert len(tried) <= MAX_TRIALS


def test_without_any_forecast_the_size_doubles_and_halves():
    need = line(0, 1000)
    bounds, tried = run(need, 10_000_000, start=1000, forecast=lambda _: None)
    assert tried[:4] == [1000, 2000, 4000, 8000]
    assert need(bounds.fits) <= 10_000_000 < need(bounds.too_large)
    assert bounds.too_large <= bounds.fits * 1.3


def test_a_start_that_is_too_large_goes_down_until_one_fits():
    bounds, tried = run(line(0, MIB), 20 * MIB, start=1024)
    assert tried[0] == 1024
    assert bounds.fits == 20


def test_where_not_even_the_smallest_fits_nothing_is_named():
    bounds, tried = run(line(2**33, 1), 2**30, start=4)
    assert bounds.fits is None
    assert tried[-1] == 1


def test_where_the_bars_allow_no_more_the_search_ends_at_the_cap():
    bounds, tried = run(line(0, 10), 2**30, cap=1000)
    assert bounds == Bounds(1000, None, False)
    assert tried == [64, 1000]


def test_the_next_size_is_no_farther_than_allowed():
    _, tried = run(line(0, 10), 2**30, farthest=16)
    assert tried[:3] == [64, 1024, 16_384]


def test_a_training_that_fails_for_another_reason_ends_the_search():
    def attempt(value, _):
        return Outcome(None, None)

    bounds = search.search(64, 1, 1000, 1, lambda _: None, attempt, lambda v: v, 16)
    assert bounds == Bounds(None, None, True)


@pytest.mark.parametrize("multiple", [32, 48, 100])
def test_a_size_that_must_be_a_multiple_ends_with_neighbours(multiple):
    need = line(0, MIB)
    bounds, _ = run(need, 1000 * MIB, multiple, multiple, multiple=multiple)
    assert bounds.fits == 1000 // multiple * multiple
    assert bounds.too_large - bounds.fits == multiple or bounds.too_large <= bounds.fits * CLOSE
