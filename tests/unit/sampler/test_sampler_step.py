"""``step_peak`` and the degraded path, on real memory."""

from __future__ import annotations

import gc
import time

import pytest

import foxbench
from foxbench.errors import SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.provenance import NO_CLEAR_REFS_ENV, capabilities
from foxbench.sampler.result import MEASUREMENT_VERSION

MIB = 1 << 20


def test_the_step_peak_is_what_the_step_needed_on_top(hold, spike, slack_bytes) -> None:
    before = hold(32 * MIB)  # was there before the step: not the step's
    figure = foxbench.step_peak(lambda: spike(48 * MIB))
    before.drop()
    assert figure.peak.kind == "hwm"
    assert abs(figure.step_peak_bytes - 48 * MIB) <= slack_bytes
    assert figure.step_peak_bytes == figure.peak.bytes - figure.rss_before_bytes
    assert abs(figure.rss_after_bytes - figure.rss_before_bytes) < MIB
    assert figure.measurement_version == MEASUREMENT_VERSION


def test_five_step_peaks_of_the_same_step_agree(spike) -> None:
    peaks = [foxbench.step_peak(lambda: spike(64 * MIB)).step_peak_bytes for _ in range(5)]
    assert max(peaks) - min(peaks) <= lowlevel.error_bound_here()


def test_what_a_step_keeps_shows_after_it(hold) -> None:
    kept = []
    figure = foxbench.step_peak(lambda: kept.append(hold(16 * MIB)))
    assert figure.rss_after_bytes - figure.rss_before_bytes >= 16 * MIB
    kept.pop().drop()


def test_garbage_from_before_is_collected_first(hold, spike, slack_bytes) -> None:
    cycle = [hold(32 * MIB)]
    cycle.append(cycle)
    del cycle
    figure = foxbench.step_peak(lambda: spike(8 * MIB))
    assert abs(figure.step_peak_bytes - 8 * MIB) <= slack_bytes
    assert not [o for o in gc.get_objects() if type(o).__name__ == "Held"]


#: The low bits of an interval's id are its place in the table: the lowest free one is taken.
SLOT_MASK = (1 << 20) - 1


def test_a_step_that_fails_has_no_figure_and_leaves_nothing_open() -> None:
    before = lowlevel.interval_begin()
    lowlevel.interval_end(before)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            foxbench.step_peak(lambda: 1 / 0)
    after = lowlevel.interval_begin()
    lowlevel.interval_end(after)
    assert after & SLOT_MASK == before & SLOT_MASK


def test_a_rate_that_no_sampler_has_is_refused() -> None:
    with pytest.raises(SamplerError, match=r"5\.0 Hz"):
        foxbench.step_peak(lambda: None, hz=5.0)


def test_without_clear_refs_the_figure_says_it_is_sampled(monkeypatch, hold) -> None:
    monkeypatch.setenv(NO_CLEAR_REFS_ENV, "1")

    def step() -> None:
        held = hold(32 * MIB)
        time.sleep(0.05)
        held.drop()

    figure = foxbench.step_peak(step)
    assert figure.peak.kind == "sampled"
    assert figure.peak.hwm_bytes is None
    assert figure.peak.err_bytes is None
    assert 32 * MIB <= figure.step_peak_bytes <= 33 * MIB


def test_without_clear_refs_the_kernels_mark_is_left_alone(monkeypatch, spike) -> None:
    spike(200 * MIB)
    monkeypatch.setenv(NO_CLEAR_REFS_ENV, "1")
    mark = lowlevel.status().hwm_bytes
    assert mark is not None
    with foxbench.measure() as m:
        pass
    assert lowlevel.status().hwm_bytes == mark
    assert m.result.whole.peak.kind == "sampled"
    assert NO_CLEAR_REFS_ENV in m.result.warnings[0]
    assert not capabilities().hwm_reset
    assert NO_CLEAR_REFS_ENV in capabilities().hwm_reset_problem


def test_the_capabilities_describe_this_machine() -> None:
    here = capabilities()
    assert here.hwm_reset
    assert here.hwm_reset_problem == ""
    assert here.page_bytes == lowlevel.page_bytes()
    assert here.err_bytes == lowlevel.error_bound_here()
    assert here.kernel.startswith("{}.{}".format(*lowlevel.kernel_version()))
    assert here.n_cpus >= 1
    assert here.libc
