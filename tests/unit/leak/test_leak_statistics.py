import numpy as np
import pytest

from foxbench.leak.statistics import confidence, mann_kendall, theil_sen


def z_by_definition(y):
    """Concordant less discordant pairs / their standard deviation where there is no trend."""
    n = len(y)
    s = sum(np.sign(y[j] - y[i]) for i in range(n) for j in range(i + 1, n))
    ties = [int(count) for count in np.unique(y, return_counts=True)[1]]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    return s / variance**0.5


@pytest.mark.parametrize("n_levels", [2, 5, 1000])
def test_mann_kendall_is_its_definition_with_ties_and_without(n_levels):
    rng = np.random.default_rng(n_levels)
    for _ in range(20):
        y = rng.integers(0, n_levels, 24).astype(float)
        assert mann_kendall(y) == pytest.approx(z_by_definition(y), abs=1e-6)


def test_mann_kendall_of_a_line_is_the_largest_and_its_mirror_the_least():
    y = np.arange(24.0)
    assert mann_kendall(y) == pytest.approx(z_by_definition(y))
    assert mann_kendall(-y) == pytest.approx(-mann_kendall(y))
    shuffled = np.random.default_rng(0).permutation(y)
    assert abs(mann_kendall(shuffled)) < mann_kendall(y)


@pytest.mark.parametrize("y", [np.full(24, 7.0), np.array([3.0]), np.array([])])
def test_what_never_moves_has_no_trend(y):
    assert mann_kendall(y) == 0


def test_theil_sen_is_the_median_of_the_slopes_of_all_pairs():
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.random(24)), rng.normal(size=24)
    pairs = [(y[j] - y[i]) / (x[j] - x[i]) for i in range(24) for j in range(i + 1, 24)]
    assert theil_sen(x, y).value == pytest.approx(np.median(pairs))


def test_a_slope_is_not_moved_by_a_few_wild_values():
    x = np.arange(24.0)
    y = 4096 * x
    y[[3, 11, 20]] += 1e9
    assert theil_sen(x, y).value == pytest.approx(4096)


def test_the_lower_bound_lies_above_the_true_slope_about_once_in_a_hundred():
    rng = np.random.default_rng(3)
    x = np.arange(24.0)
    above = sum(theil_sen(x, 100 * x + 500 * rng.normal(size=24)).lower > 100 for _ in range(1000))
    assert 1 <= above <= 30


def test_confidence_is_even_without_a_trend_and_near_1_with_a_clear_one():
    assert confidence(0.0) == 0.5
    assert confidence(3.1) == pytest.approx(0.999, abs=1e-4)
    assert confidence(-3.1) == pytest.approx(0.001, abs=1e-4)
