"""Which models fit together, against trying every set."""

import dataclasses
import itertools

from budget_rows import ERR, MIB, failed, profile, row
from hypothesis import given
from hypothesis import strategies as st

from foxbench.budget.coresidence import MAX_SETS, coresidence, maximal_sets


def every_maximal_set(sizes, limit):
    fitting = [
        set(chosen)
        for n in range(1, len(sizes) + 1)
        for chosen in itertools.combinations(sizes, n)
        if sum(sizes[name] for name in chosen) <= limit
    ]
    return {frozenset(s) for s in fitting if not any(s < other for other in fitting)}


@given(
    values=st.lists(st.integers(1, 50), min_size=0, max_size=8),
    limit=st.integers(50, 200),
)
def test_the_sets_are_those_found_by_trying_all(values, limit):
    sizes = {f"m{i}": size for i, size in enumerate(values)}
    found = list(maximal_sets(list(sizes.items()), limit))
    assert len(found) == len(set(found))
    assert {frozenset(s) for s in found} == every_maximal_set(sizes, limit)


def rows_of(**mebibytes):
    return [row(name, profile(size * MIB, 0)) for name, size in mebibytes.items()]


def test_all_fit_when_their_sum_does():
    found = coresidence(rows_of(dqn=100, ppo=200), 300 * MIB)
    assert (found.sum_bytes, found.fits, found.sets) == (300 * MIB, True, (("dqn", "ppo"),))
    assert found.upper_bound


def test_the_error_bounds_count():
    rows = [row("dqn", profile(100 * MIB, ERR)), row("ppo", profile(200 * MIB, ERR))]
    found = coresidence(rows, 300 * MIB + 2 * ERR - 1)
    assert (found.sum_bytes, found.fits) == (300 * MIB + 2 * ERR, False)
    assert set(found.sets) == {("dqn",), ("ppo",)}


def test_a_model_that_failed_takes_no_part_and_leaves_the_answer_open():
    rows = [*rows_of(dqn=100), row("ppo", failed())]
    found = coresidence(rows, 300 * MIB)
    assert (found.sum_bytes, found.fits, found.left_out) == (100 * MIB, None, ("ppo",))
    assert found.sets == (("dqn",),)
    assert coresidence(rows, 99 * MIB).fits is False


def test_a_model_that_is_too_large_alone_is_in_no_set():
    found = coresidence(rows_of(dqn=100, ppo=301), 300 * MIB)
    assert (found.alone_too_large, found.sets, found.fits) == (("ppo",), (("dqn",),), False)


def test_a_sampled_peak_makes_the_sum_no_bound():
    rows = [*rows_of(dqn=100), row("ppo", profile(err_bytes=None))]
    assert not coresidence(rows, 300 * MIB).upper_bound


def test_without_a_limit_there_is_a_sum_and_no_sets():
    found = coresidence(rows_of(dqn=100), None)
    assert (found.sum_bytes, found.fits, found.sets) == (100 * MIB, None, ())


def test_without_any_figure_nothing_is_known():
    found = coresidence([row("dqn", failed())], 300 * MIB)
    assert found.sum_bytes is found.fits is None
    assert found.sets == ()


def test_of_very_many_sets_some_are_listed_and_it_is_said():
    rows = rows_of(**{f"m{i}": 100 for i in range(30)})
    found = coresidence(rows, 1500 * MIB)
    assert len(found.sets) == MAX_SETS
    assert found.more_sets
    assert all(len(s) == 15 for s in found.sets)
    assert not coresidence(rows[:3], 200 * MIB).more_sets


def test_rows_keep_their_order_within_a_set():
    rows = [dataclasses.replace(r) for r in rows_of(c=1, a=3, b=2)]
    assert coresidence(rows, 10 * MIB).sets == (("c", "a", "b"),)
