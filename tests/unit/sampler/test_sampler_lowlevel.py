"""Every public C function: what it answers, and that it leaks nothing."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
import resource
from pathlib import Path

import pytest

from foxbench.errors import SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.handles import SamplerThread, TimelineBuffer

MIB = 1 << 20
HEADER = Path(__file__).parents[3] / "csrc" / "foxsampler.h"


def _populate() -> None:
    with mmap.mmap(-1, 1 << 16) as area:
        byte = ctypes.c_char.from_buffer(area)
        lowlevel.populate_read(ctypes.addressof(byte), 1 << 16)
        del byte


def _interval() -> None:
    interval = lowlevel.interval_begin()
    lowlevel.interval_read(interval)
    lowlevel.interval_end(interval)


def _timeline() -> None:
    timeline = TimelineBuffer(64)
    timeline.add(1, 2)
    assert timeline.buckets().shape == (1, 6)


def _thread() -> None:
    thread = SamplerThread(1000.0, 64)
    thread.start()
    thread.stats()
    thread.buckets()
    thread.stop()
    thread.close()


#: What to call for each C function; the coverage test keeps it complete.
CALLS = {
    "fox_clock_ns": lowlevel.clock_ns,
    "fox_page_bytes": lowlevel.page_bytes,
    "fox_statm_read": lowlevel.statm,
    "fox_rss_bytes": lowlevel.rss_bytes,
    "fox_status_read": lowlevel.status,
    "fox_usage_read": lowlevel.usage,
    "fox_io_read": lowlevel.io,
    "fox_same_memory": lambda: lowlevel.same_memory(os.getpid(), os.getpid()),
    "fox_kernel_version": lowlevel.kernel_version,
    "fox_error_bound_bytes": lambda: lowlevel.error_bound_bytes((6, 18), 2, 1, 4096),
    "fox_error_bound_here": lowlevel.error_bound_here,
    "fox_malloc_trim": lowlevel.malloc_trim,
    "fox_populate_read": _populate,
    "fox_hwm_reset": lowlevel.hwm_reset,
    "fox_lifetime_peak": lowlevel.lifetime_peak_bytes,
    "fox_interval_begin": _interval,
    "fox_interval_read": _interval,
    "fox_interval_end": _interval,
    "fox_timeline_new": _timeline,
    "fox_timeline_free": _timeline,
    "fox_timeline_add": _timeline,
    "fox_timeline_length": _timeline,
    "fox_timeline_copy": _timeline,
    "fox_sampler_new": _thread,
    "fox_sampler_start": _thread,
    "fox_sampler_stop": _thread,
    "fox_sampler_read": _thread,
    "fox_sampler_length": _thread,
    "fox_sampler_copy": _thread,
    "fox_sampler_free": _thread,
}
#: Changes this process for good: tested in a process of its own (tests/system).
ELSEWHERE = {"fox_quiet_allocator"}


def test_every_public_c_function_has_a_leak_test() -> None:
    declared = set(re.findall(r"\b(fox_\w+)\(", HEADER.read_text()))
    assert declared == set(CALLS) | ELSEWHERE


@pytest.mark.parametrize("function", sorted(CALLS))
def test_calling_it_two_thousand_times_leaks_neither_descriptors_nor_memory(function: str) -> None:
    call = CALLS[function]
    for _ in range(200):
        call()
    rss_before = lowlevel.rss_bytes()  # first: it keeps a descriptor open from now on
    open_before = len(os.listdir("/proc/self/fd"))
    for _ in range(2000):
        call()
    assert len(os.listdir("/proc/self/fd")) == open_before
    # 2000 leaked pages would be 8 MB, 2000 sampler mappings 500 MB.
    assert lowlevel.rss_bytes() - rss_before < 2 * MIB


def test_statm_and_status_tell_the_same_resident_set() -> None:
    statm, status = lowlevel.statm(), lowlevel.status()
    assert status.rss_bytes is not None
    assert abs(statm.resident_bytes - status.rss_bytes) < MIB
    parts = (status.anon_bytes, status.file_bytes, status.shmem_bytes)
    assert sum(part or 0 for part in parts) == status.rss_bytes
    assert statm.resident_bytes % lowlevel.page_bytes() == 0


def test_held_bytes_show_in_the_resident_set(hold) -> None:
    before = lowlevel.rss_bytes()
    held = hold(32 * MIB)
    during = lowlevel.rss_bytes()
    held.drop()
    assert 32 * MIB <= during - before < 33 * MIB
    assert abs(lowlevel.rss_bytes() - before) < MIB


def test_usage_counts_the_faults_of_touched_pages(spike) -> None:
    before = lowlevel.usage()
    spike(8 * MIB)
    after = lowlevel.usage()
    # At least one fault a huge page, where the kernel gives those.
    assert after.minor_faults - before.minor_faults >= 4
    ours = after.user_ns + after.system_ns
    theirs = resource.getrusage(resource.RUSAGE_SELF)
    assert abs(ours / 1e9 - theirs.ru_utime - theirs.ru_stime) < 1.0


def test_the_error_bound_is_the_kernels_batch_on_every_cpu_and_counter() -> None:
    assert lowlevel.error_bound_bytes((6, 18), 2, 1, 4096) == 744 * 1024
    assert lowlevel.error_bound_bytes((6, 18), 64, 1, 4096) == 3 * 127 * 64 * 4096
    assert lowlevel.error_bound_bytes((5, 15), 64, 4, 4096) == 63 * 4 * 4096
    with pytest.raises(SamplerError, match="0 CPUs") as caught:
        lowlevel.error_bound_bytes((6, 18), 0, 1, 4096)
    assert caught.value.errno == errno.EINVAL


def test_a_spike_shorter_than_a_tick_is_in_the_high_water_mark(spike, slack_bytes) -> None:
    interval = lowlevel.interval_begin()
    spike(64 * MIB)
    raw = lowlevel.interval_end(interval)
    assert raw.sampled_bytes is None
    assert raw.hwm_bytes is not None
    assert abs(raw.hwm_bytes - raw.rss_begin_bytes - 64 * MIB) <= slack_bytes


def test_an_interval_ends_only_once_and_the_error_says_so() -> None:
    interval = lowlevel.interval_begin()
    lowlevel.interval_end(interval)
    with pytest.raises(SamplerError, match="No such file") as caught:
        lowlevel.interval_end(interval)
    assert "once" in caught.value.remedy


def test_the_lifetime_peak_survives_a_reset(spike) -> None:
    spike(96 * MIB)
    before = lowlevel.lifetime_peak_bytes()
    lowlevel.hwm_reset()
    mark = lowlevel.status().hwm_bytes
    assert mark is not None
    assert lowlevel.lifetime_peak_bytes() >= before >= mark + 64 * MIB


@pytest.mark.parametrize(("hz", "capacity"), [(99.0, 64), (1e5, 64), (float("nan"), 64), (1e3, 63)])
def test_a_sampler_refuses_what_it_cannot_do_and_names_the_limits(hz: float, capacity: int) -> None:
    with pytest.raises(SamplerError) as caught:
        SamplerThread(hz, capacity)
    assert "100 to 10000 Hz" in caught.value.remedy


def test_a_started_sampler_refuses_a_second_start() -> None:
    thread = SamplerThread(1000.0, 64)
    thread.start()
    with pytest.raises(SamplerError) as caught:
        thread.start()
    assert caught.value.errno == errno.EALREADY
    thread.close()
    thread.close()
