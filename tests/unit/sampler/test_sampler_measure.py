"""``foxbench.measure`` as block and as decorator, on real memory."""

from __future__ import annotations

import threading
import time

import pytest

import foxbench
from foxbench.errors import NotMeasured, UsageError
from foxbench.sampler import lowlevel

MIB = 1 << 20


def test_the_peak_of_a_block_is_what_it_held(hold, slack_bytes) -> None:
    with foxbench.measure(hz=1000, name="work") as m:
        held = hold(64 * MIB)
        time.sleep(0.02)
        held.drop()
    whole = m.result.whole
    assert (whole.name, whole.depth) == ("work", 0)
    assert whole.peak.kind == "hwm"
    assert abs(whole.step_peak_bytes - 64 * MIB) <= slack_bytes
    assert whole.peak.bytes >= max(whole.peak.hwm_bytes or 0, whole.peak.sampled_bytes or 0)
    assert whole.peak.err_bytes == lowlevel.error_bound_here()
    assert whole.end_ns > whole.begin_ns


def test_samples_show_the_held_bytes_and_when(hold) -> None:
    with foxbench.measure(hz=1000) as m:
        begin = lowlevel.clock_ns()
        held = hold(64 * MIB)
        time.sleep(0.1)
        held.drop()
        end = lowlevel.clock_ns()
        time.sleep(0.01)
    result, timeline = m.result, m.result.timeline
    assert timeline.count.sum() == result.n_samples > 20
    highest = timeline.max_bytes.argmax()
    assert begin <= timeline.max_ns[highest] <= end
    assert timeline.max_bytes[highest] >= result.whole.rss_begin_bytes + 64 * MIB
    assert result.whole.peak.sampled_bytes == timeline.max_bytes[highest]
    assert result.sampler_cpu_ns > 0
    assert result.self_bytes > 256 * 1024


def test_phases_have_their_own_peaks_and_the_block_keeps_the_highest(spike, slack_bytes) -> None:
    with foxbench.measure() as m:
        with m.phase("big"):
            spike(64 * MIB)
        with m.phase("outer"):
            with m.phase("inner") as inner:
                spike(16 * MIB)
            spike(32 * MIB)
    by_name = {interval.name: interval for interval in m.result.intervals}
    assert [interval.name for interval in m.result.intervals] == ["big", "inner", "outer"]
    assert [by_name[name].depth for name in ("big", "outer", "inner")] == [1, 1, 2]
    for name, expected in (("big", 64), ("outer", 32), ("inner", 16)):
        assert abs(by_name[name].step_peak_bytes - expected * MIB) <= slack_bytes, name
    assert abs(m.result.whole.step_peak_bytes - 64 * MIB) <= slack_bytes
    assert inner.interval == by_name["inner"]


def test_a_nested_measurement_does_not_lower_the_outer_peak(spike, slack_bytes) -> None:
    with foxbench.measure() as outer:
        spike(64 * MIB)
        with foxbench.measure() as inner:
            spike(16 * MIB)
    assert abs(inner.result.whole.step_peak_bytes - 16 * MIB) <= slack_bytes
    assert abs(outer.result.whole.step_peak_bytes - 64 * MIB) <= slack_bytes
    assert outer.result.lifetime_peak_bytes >= outer.result.whole.peak.bytes


def test_two_threads_measure_at_once(spike, slack_bytes) -> None:
    meters = [foxbench.measure(name=f"thread {i}") for i in range(2)]
    together = threading.Barrier(2)

    def work(meter: foxbench.measure) -> None:
        with meter, meter.phase("step"):
            together.wait()
            spike(32 * MIB)
            together.wait()

    threads = [threading.Thread(target=work, args=(meter,)) for meter in meters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for meter in meters:
        # Memory is the process's: each sees at least its own spike, at most both.
        peak = meter.result.whole.step_peak_bytes
        assert 32 * MIB - slack_bytes <= peak <= 64 * MIB + 2 * MIB + slack_bytes
        assert [interval.name for interval in meter.result.intervals] == ["step"]


def test_the_result_is_there_after_an_exception(spike, slack_bytes) -> None:
    m = foxbench.measure()

    def fails() -> None:
        with m, m.phase("failing"):
            spike(16 * MIB)
            raise KeyError("lost")

    with pytest.raises(KeyError):
        fails()
    assert abs(m.result.whole.step_peak_bytes - 16 * MIB) <= slack_bytes
    assert [interval.name for interval in m.result.intervals] == ["failing"]


def test_the_result_is_refused_before_the_block_has_ended() -> None:
    m = foxbench.measure(name="early")
    with pytest.raises(NotMeasured, match="'early' has not ended"):
        _ = m.result
    with m, pytest.raises(NotMeasured):
        _ = m.result
    assert m.result.whole.name == "early"


def test_the_live_view_follows_the_memory(hold, slack_bytes) -> None:
    with foxbench.measure() as m:
        before = m.rss_bytes()
        held = hold(32 * MIB)
        assert m.rss_bytes() - before >= 32 * MIB
        held.drop()
        assert m.rss_bytes() - before < MIB
        assert abs(m.peak_so_far().bytes - before - 32 * MIB) <= slack_bytes
    with pytest.raises(UsageError, match="not being measured"):
        m.peak_so_far()


def test_a_meter_can_be_used_again_but_not_twice_at_once(spike, slack_bytes) -> None:
    m = foxbench.measure()
    with m:
        spike(32 * MIB)
        with pytest.raises(UsageError, match="measured already"):
            m.__enter__()
    with m:
        spike(8 * MIB)
    assert abs(m.result.whole.step_peak_bytes - 8 * MIB) <= slack_bytes


def test_a_phase_outside_its_block_is_refused() -> None:
    m = foxbench.measure()
    with pytest.raises(UsageError, match="phase 'step'"), m.phase("step"):
        pass


def test_a_phase_left_open_is_named_in_a_warning() -> None:
    m = foxbench.measure()
    with m:
        phase = m.phase("load")
        phase.__enter__()
    phase.__exit__(None, None, None)
    assert any("'load' was still open" in warning for warning in m.result.warnings)
    assert m.result.intervals == ()


@pytest.mark.parametrize("hz", [0, -1000, 99, 10_001, float("nan")])
def test_a_rate_out_of_range_is_refused(hz: float) -> None:
    with pytest.raises(UsageError, match="sampling rate"):
        foxbench.measure(hz=hz)


def test_a_decorated_function_keeps_its_last_measurement(spike, slack_bytes) -> None:
    @foxbench.measure(hz=1000)
    def work(n_bytes: int) -> str:
        """Doc."""
        spike(n_bytes)
        return "done"

    assert work.foxbench_result is None
    assert work(16 * MIB) == "done"
    assert work(32 * MIB) == "done"
    assert abs(work.foxbench_result.whole.step_peak_bytes - 32 * MIB) <= slack_bytes
    assert work.foxbench_result.whole.name.endswith("work")
    assert (work.__name__, work.__doc__) == ("work", "Doc.")


def test_a_decorated_function_may_recurse(spike, slack_bytes) -> None:
    peaks = []

    @foxbench.measure()
    def down(depth: int) -> None:
        if depth:
            down(depth - 1)
            peaks.append(down.foxbench_result.whole.step_peak_bytes)
        spike((depth + 1) * 8 * MIB)

    down(3)
    peaks.append(down.foxbench_result.whole.step_peak_bytes)
    # Each call also holds the samplers of the deeper ones: half a megabyte each.
    for depth, peak in enumerate(peaks):
        assert abs(peak - (depth + 1) * 8 * MIB) <= slack_bytes + MIB


def test_a_decorated_function_that_raises_has_a_result_too() -> None:
    @foxbench.measure()
    def fails() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError):
        fails()
    assert fails.foxbench_result.whole.peak.bytes > 0


def test_functions_that_run_after_their_call_are_refused() -> None:
    async def later() -> None: ...

    def one_by_one():
        yield 1

    for function in (later, one_by_one):
        with pytest.raises(UsageError, match="runs after its call"):
            foxbench.measure()(function)
