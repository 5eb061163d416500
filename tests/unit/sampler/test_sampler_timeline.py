"""The bounded timeline against the plain list of everything added to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.errors import SamplerError
from foxbench.sampler import assemble
from foxbench.sampler.handles import TimelineBuffer

samples = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 2**50)), min_size=1, max_size=600)


@given(samples, st.integers(1, 10).map(lambda power: 2**power))
def test_no_maximum_is_lost_every_sample_is_counted_and_memory_is_bounded(
    steps: list[tuple[int, int]], capacity: int
) -> None:
    times = np.cumsum([step for step, _ in steps])
    values = np.array([value for _, value in steps])
    buffer = TimelineBuffer(capacity)
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        buffer.add(time, value)
    timeline = assemble.timeline(buffer.buckets())

    assert len(timeline.count) <= capacity
    assert timeline.count.sum() == len(steps)
    assert timeline.max_bytes.max() == values.max()
    ends = np.cumsum(timeline.count)
    for bucket, (begin, end) in enumerate(zip(ends - timeline.count, ends, strict=True)):
        inside = values[begin:end]
        assert timeline.first_ns[bucket] == times[begin]
        assert timeline.min_bytes[bucket] == inside.min()
        assert timeline.max_bytes[bucket] == inside.max()
        assert timeline.max_ns[bucket] == times[begin + inside.argmax()]
        assert timeline.last_bytes[bucket] == inside[-1]


@given(st.integers(1, 2000))
def test_all_buckets_but_the_last_hold_the_same_power_of_two(n: int) -> None:
    buffer = TimelineBuffer(16)
    for i in range(n):
        buffer.add(i, i)
    count = buffer.buckets()[:, 5]
    width = count[0]
    assert width & (width - 1) == 0
    assert (count[:-1] == width).all()
    assert count[-1] <= width
    assert len(count) > 8 or width == 1


def test_a_timeline_refuses_time_going_back_and_negative_sizes() -> None:
    buffer = TimelineBuffer(2)
    buffer.add(5, 1)
    with pytest.raises(SamplerError, match="at 4 ns"):
        buffer.add(4, 1)
    with pytest.raises(SamplerError, match="-1 bytes"):
        buffer.add(6, -1)
    assert buffer.buckets()[:, 5].tolist() == [1]


@pytest.mark.parametrize("capacity", [-2, 0, 1, 3, 1 << 21])
def test_a_capacity_that_is_no_power_of_two_in_range_is_refused(capacity: int) -> None:
    with pytest.raises(SamplerError) as caught:
        TimelineBuffer(capacity)
    assert "power of two" in caught.value.remedy
