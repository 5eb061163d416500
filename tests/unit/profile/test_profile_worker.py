import pytest

from foxbench.profile.worker import MAX_SETTLED, settled_steps


@pytest.mark.parametrize("total", [2, 3, 10, 11, 12, 13, 99, 1500])
def test_settled_steps_are_warm_distinct_and_spread_over_the_whole_run(total):
    steps = sorted(settled_steps(total))
    assert len(steps) == min(total - 1, MAX_SETTLED)
    assert steps[0] == 2
    assert steps[-1] <= total
    gaps = [b - a for a, b in zip([*steps], [*steps[1:], total + 1], strict=True)]
    assert max(gaps) - min(gaps) <= 1
