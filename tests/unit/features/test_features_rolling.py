import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.features.rolling import (
    Extremes,
    Moments,
    Pair,
    Sums,
    Trend,
    counts,
    div,
    lag,
    lag_zero,
    rows_since_max,
)

WINDOWS = (1, 2, 3, 5, 14, 25, 60, 240)


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal(300).cumsum()


def windows(x, w):
    return [x[max(0, t - w + 1) : t + 1] for t in range(len(x))]


@pytest.mark.parametrize("w", WINDOWS)
def test_sums_moments_and_extremes_are_those_of_each_window(x, w):
    parts = windows(x, w)
    np.testing.assert_allclose(Sums(x).sum(w), [p.sum() for p in parts], atol=1e-10)
    np.testing.assert_allclose(Sums(x).mean(w), [p.mean() for p in parts], atol=1e-10)
    np.testing.assert_allclose(Moments(x).var(w), [p.var() for p in parts], atol=1e-9)
    np.testing.assert_array_equal(Extremes(x, True).over(w), [p.max() for p in parts])
    np.testing.assert_array_equal(Extremes(x, False).over(w), [p.min() for p in parts])


@pytest.mark.parametrize("w", WINDOWS[1:])
def test_slopes_and_correlations_are_those_of_each_window(x, w):
    y = np.random.default_rng(4).standard_normal(len(x))
    mx, my = Moments(x), Moments(y)
    pair, trend = Pair(mx, my, x * y), Trend(x, mx)
    for t in (1, 7, w, 150, 299):
        a, b = x[max(0, t - w + 1) : t + 1], y[max(0, t - w + 1) : t + 1]
        times = np.arange(len(a))
        assert pair.corr(w)[t] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-8)
        assert trend.slope(w)[t] == pytest.approx(np.polyfit(times, a, 1)[0], abs=1e-8)
        assert trend.corr(w)[t] == pytest.approx(np.corrcoef(times, a)[0, 1], abs=1e-8)


@given(values=st.lists(st.integers(0, 5), min_size=1, max_size=120), w=st.integers(1, 130))
def test_rows_since_the_maximum_count_from_the_latest_of_equals(values, w):
    x = np.array(values, dtype=float)
    slow = [int(np.argmax(p[::-1])) for p in windows(x, w)]
    assert rows_since_max(x, w).tolist() == slow


@given(values=st.lists(st.integers(-9, 9), min_size=1, max_size=120), w=st.integers(1, 130))
def test_extremes_cover_any_window_and_any_length(values, w):
    x = np.array(values, dtype=float)
    assert Extremes(x, True).over(w).tolist() == [p.max() for p in windows(x, w)]


def test_a_still_window_after_movement_has_a_variance_of_exactly_zero():
    x = np.concatenate((np.random.default_rng(5).standard_normal(5000) * 0.01, np.full(50, 0.0123)))
    assert (Moments(x).var(30)[-20:] == 0.0).all()
    assert (Moments(x).var(30)[:4999][1:] > 0.0).all()


def test_division_by_next_to_nothing_is_zero():
    assert div(np.ones(4), np.array([1e-12, -1e-12, 0.0, 2e-12])).tolist() == [0, 0, 0, 5e11]


@pytest.mark.parametrize("k", [1, 3, 10])
def test_lags_fill_with_the_first_row_or_zero_even_beyond_the_start(k):
    x = np.array([5.0, 6.0, 7.0])
    assert lag(x, k).tolist() == [x[max(0, t - k)] for t in range(3)]
    assert lag_zero(x, k).tolist() == [x[t - k] if t >= k else 0.0 for t in range(3)]


def test_shared_counts_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        counts(10, 3)[0] = 9
