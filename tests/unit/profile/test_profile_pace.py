import itertools

import pytest

from foxbench.profile import pace
from foxbench.profile.pace import MAX_SETTLED, Counted, Soaking


@pytest.mark.parametrize("total", [2, 3, 10, 11, 12, 13, 99, 1500])
def test_settled_steps_are_warm_distinct_and_spread_over_the_whole_run(total):
    made = list(Counted(total).warm_steps())
    assert [number for number, _ in made] == list(range(2, total + 1))
    steps = [number for number, settled in made if settled]
    assert len(steps) == min(total - 1, MAX_SETTLED)
    assert steps[0] == 2
    gaps = [b - a for a, b in itertools.pairwise([*steps, total + 1])]
    assert max(gaps) - min(gaps) <= 1


@pytest.fixture
def clock(monkeypatch):
    """A clock that only steps move."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(pace, "time", made)
    return made


def soak(clock, seconds, step_s, most=10_000):
    made = []
    for number, settled in itertools.islice(Soaking(seconds).warm_steps(), most):
        made.append((number, settled))
        clock.now += step_s
    return made


@pytest.mark.parametrize(("seconds", "step_s", "steps"), [(10, 1, 10), (10, 3, 4), (1, 0.25, 4)])
def test_soaking_ends_with_the_step_that_reaches_the_time(clock, seconds, step_s, steps):
    made = soak(clock, seconds, step_s)
    assert [number for number, _ in made] == list(range(2, 2 + steps))


def test_soaking_makes_one_warm_step_however_long_it_takes(clock):
    assert soak(clock, 1, 100) == [(2, True)]


def test_soaking_settles_at_equal_times_and_no_oftener_than_a_counted_run(clock):
    settled = [number for number, is_settled in soak(clock, 100, 0.5) if is_settled]
    assert len(settled) == MAX_SETTLED
    assert {b - a for a, b in itertools.pairwise(settled)} == {20}


def test_a_soaking_run_has_no_number_of_steps_before_its_end():
    assert Soaking(5.0).total is None
