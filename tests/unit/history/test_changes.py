from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from series_maker import MIB, noisy, point_at, series_of

from foxbench.history.changes import judge


def told(series):
    return [(c.kind, c.good.order, c.bad.order) for c in judge(series).changes]


@pytest.mark.parametrize("seed", range(5))
def test_a_ten_percent_step_is_named_with_its_commit_and_bytes(seed):
    (change,) = judge(noisy([30] * 5 + [33] * 5, seed=seed)).changes
    assert (change.kind, change.good.order, change.bad.order) == ("step", 4, 5)
    assert change.worse
    assert change.delta_bytes == pytest.approx(3 * MIB, abs=0.1 * MIB)
    assert change.percent == pytest.approx(10, abs=0.4)
    assert change.before_bytes + change.delta_bytes == change.after_bytes


@pytest.mark.parametrize("seed", range(5))
def test_three_percent_at_the_newest_commit_is_named_and_provisional(seed):
    (change,) = judge(noisy([30] * 9 + [30.9], seed=seed)).changes
    assert (change.kind, change.bad.order, change.provisional) == ("last commit", 9, True)


def test_two_commits_are_enough_for_a_step():
    assert told(noisy([30, 33])) == [("last commit", 0, 1)]


@pytest.mark.parametrize("n_commits", [2, 6, 30])
def test_noise_alone_is_never_a_change(n_commits):
    alarms = [c for k in range(60) for c in judge(noisy([30] * n_commits, 0.01, seed=k)).changes]
    assert alarms == []


def test_a_fall_is_told_and_is_no_regression():
    verdict = judge(noisy([30] * 5 + [27] * 5))
    assert [(c.kind, c.worse) for c in verdict.changes] == [("step", False)]
    assert verdict.regressions == ()


@pytest.mark.parametrize("growth", [1.003, 1.01])
def test_growth_that_no_commit_explains_is_a_creep_over_all_of_it(growth):
    (change,) = judge(noisy([30 * growth**i for i in range(20)])).changes
    assert (change.kind, change.good.order, change.bad.order) == ("creep", 0, 19)
    assert change.delta_bytes == pytest.approx(30 * MIB * (growth**19 - 1), rel=0.1)


def test_two_steps_upwards_are_two_steps_and_no_creep():
    assert told(noisy([30] * 5 + [33] * 5 + [36] * 5)) == [("step", 4, 5), ("step", 9, 10)]


def test_a_spike_is_told_up_and_down():
    verdict = judge(noisy([30] * 5 + [33] + [30] * 5))
    assert [(c.bad.order, c.worse) for c in verdict.changes] == [(5, True), (6, False)]


def test_a_commit_that_was_not_measured_stays_a_suspect():
    points = [p for p in noisy([30] * 5 + [33] * 5).points if p.commit.order not in (5, 6)]
    assert told(series_of(points)) == [("step", 4, 7)]


def test_a_failure_where_there_was_a_value_is_a_regression_without_bytes():
    (change,) = judge(noisy([30] * 5 + [None, None])).changes
    assert (change.kind, change.good.order, change.bad.order) == ("new failure", 4, 5)
    assert change.worse
    assert (change.delta_bytes, change.after_bytes, change.percent) == (None, None, None)


def test_a_failure_that_was_mended_and_one_that_never_worked_are_not_new():
    assert told(noisy([30, 30, None, 30, 30])) == []
    assert told(noisy([None, None])) == []


def test_a_skipped_benchmark_is_not_a_failure():
    series = noisy([30] * 5)
    skipped = dataclasses.replace(point_at(5, None), status="skipped")
    assert told(series_of([*series.points, skipped])) == []


def test_a_benchmark_that_the_suite_no_longer_has_is_vanished():
    gone = dataclasses.replace(noisy([30] * 5), declared=False)
    assert told(gone) == [("vanished", 4, 4)]


def test_a_lower_bound_is_not_compared_with_an_exact_peak():
    exact = noisy([30] * 4).points
    sampled = [point_at(4 + i, [24 * MIB] * 3, method="sampled") for i in range(3)]
    verdict = judge(series_of([*exact, *sampled]))
    assert verdict.changes == ()
    assert verdict.n_left_out == 4


def test_a_loud_allocator_is_not_compared_with_a_quiet_one():
    quiet = noisy([30] * 4).points
    loud = point_at(4, [40 * MIB] * 3, quiet_allocator=False)
    assert told(series_of([*quiet, loud])) == []


@given(
    st.lists(
        st.one_of(st.none(), st.integers(min_value=0, max_value=1 << 40)), min_size=0, max_size=12
    )
)
def test_any_history_is_judged_and_no_change_lies_inside_its_band(values):
    points = [point_at(i, None if v is None else [v]) for i, v in enumerate(values)]
    verdict = judge(series_of(points))
    for change in verdict.changes:
        assert change.good.order <= change.bad.order
        if change.kind in ("step", "last commit"):
            assert abs(change.delta_bytes) > verdict.band.bytes


def test_a_history_of_thousands_of_commits_still_names_its_one_step():
    assert told(noisy([30] * 1500 + [31] * 1500)) == [("step", 1499, 1500)]
