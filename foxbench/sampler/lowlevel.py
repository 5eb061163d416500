"""One Python function a C call of the instrument; a failure raises SamplerError with its remedy.

The compiled module is loaded on the first call, so that importing this one works anywhere.
``handles`` holds the two C objects that have a life of their own.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

from foxbench.sampler._extension import check, extension, measured
from foxbench.sampler.result import Io, Split, Usage


@dataclass(frozen=True)
class Statm:
    """``/proc/self/statm`` in bytes."""

    size_bytes: int
    resident_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class Status:
    """``/proc/self/status``; a line that this kernel does not show is None."""

    hwm_bytes: int | None
    rss_bytes: int | None
    anon_bytes: int | None
    file_bytes: int | None
    shmem_bytes: int | None
    swap_bytes: int | None
    hugetlb_bytes: int | None
    threads: int | None


@dataclass(frozen=True)
class RawInterval:
    """What C knows of an interval; ``hwm_errno`` is 0 or the reason why there is no mark."""

    begin_ns: int
    end_ns: int
    rss_begin_bytes: int
    rss_end_bytes: int
    hwm_bytes: int | None
    sampled_bytes: int | None
    n_samples: int
    hwm_errno: int
    usage: Usage
    io: Io | None
    split_begin: Split | None
    split_end: Split | None


def clock_ns() -> int:
    """CLOCK_MONOTONIC in nanoseconds."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_clock_ns(out), "reading CLOCK_MONOTONIC")
    return int(out[0])


def page_bytes() -> int:
    """Size of a memory page."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_page_bytes(out), "asking for the page size")
    return int(out[0])


def rss_bytes() -> int:
    """Resident set of this process now; about a microsecond."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_rss_bytes(out), "reading /proc/self/statm")
    return int(out[0])


def statm() -> Statm:
    """Sizes of this process now."""
    out = extension().ffi.new("fox_statm *")
    check(extension().lib.fox_statm_read(out), "reading /proc/self/statm")
    return Statm(out.size_bytes, out.resident_bytes, out.shared_bytes)


def status() -> Status:
    """High-water mark and parts of the resident set now."""
    out = extension().ffi.new("fox_status *")
    check(extension().lib.fox_status_read(out), "reading /proc/self/status")
    return Status(
        measured(out.hwm_bytes),
        measured(out.rss_bytes),
        measured(out.anon_bytes),
        measured(out.file_bytes),
        measured(out.shmem_bytes),
        measured(out.swap_bytes),
        measured(out.hugetlb_bytes),
        measured(out.threads),
    )


def usage() -> Usage:
    """getrusage(2) of this process now."""
    out = extension().ffi.new("fox_usage *")
    check(extension().lib.fox_usage_read(out), "calling getrusage")
    return _usage(out)


def io() -> Io:
    """``/proc/self/io`` of this process now."""
    out = extension().ffi.new("fox_io *")
    remedy = {
        errno.ENOENT: "use a kernel with CONFIG_TASK_IO_ACCOUNTING",
        errno.EACCES: "a process that changed its user must exec before it may read this",
    }
    check(extension().lib.fox_io_read(out), "reading /proc/self/io", remedy)
    read = _io(out)
    assert read is not None
    return read


def same_memory(pid_a: int, pid_b: int) -> bool:
    """Whether two processes share their memory, as after vfork (kcmp(2))."""
    out = extension().ffi.new("int *")
    code = extension().lib.fox_same_memory(pid_a, pid_b, out)
    check(code, f"comparing the memory of processes {pid_a} and {pid_b}")
    return bool(out[0])


def kernel_version() -> tuple[int, int]:
    """Major and minor number of the running kernel."""
    major, minor = extension().ffi.new("int *"), extension().ffi.new("int *")
    check(extension().lib.fox_kernel_version(major, minor), "reading the kernel's version")
    return int(major[0]), int(minor[0])


def error_bound_bytes(kernel: tuple[int, int], n_cpus: int, n_threads: int, page_bytes: int) -> int:
    """How far VmHWM may lie below the truth on such a machine; see csrc/errbound.c."""
    bound = extension().lib.fox_error_bound_bytes(*kernel, n_cpus, n_threads, page_bytes)
    check(bound, f"the error bound for kernel {kernel}, {n_cpus} CPUs, {n_threads} threads")
    return int(bound)


def error_bound_here() -> int:
    """The same for this kernel and this process, now."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_error_bound_here(out), "working out the error bound")
    return int(out[0])


def quiet_allocator() -> bool:
    """Set glibc's malloc to give freed bytes back at once; False where the libc has no such."""
    code = extension().lib.fox_quiet_allocator()
    if code == -errno.ENOSYS:
        return False
    check(code, "calling mallopt")
    return True


def malloc_trim() -> bool:
    """Give free heap back to the kernel; whether any went back (False off glibc)."""
    out = extension().ffi.new("int *")
    code = extension().lib.fox_malloc_trim(out)
    if code == -errno.ENOSYS:
        return False
    check(code, "calling malloc_trim")
    return bool(out[0])


def populate_read(start: int, size: int) -> None:
    """Map every page of a range of addresses, as reading it would (madvise(2), Linux 5.14)."""
    check(extension().lib.fox_populate_read(start, size), "mapping a library's pages")


def hwm_reset() -> None:
    """Save VmHWM into every open interval and the lifetime peak, then reset it."""
    check(extension().lib.fox_hwm_reset(), "resetting the mark by /proc/self/clear_refs")


def lifetime_peak_bytes() -> int:
    """Highest mark of this process so far, across the resets made by foxbench."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_lifetime_peak(out), "reading VmHWM in /proc/self/status")
    return int(out[0])


def interval_begin(use_hwm: bool = True) -> int:
    """Open an interval and return its id; without ``use_hwm`` the kernel's mark is left alone."""
    out = extension().ffi.new("int64_t *")
    check(extension().lib.fox_interval_begin(int(use_hwm), out), "opening an interval")
    return int(out[0])


_NOT_OPEN = {errno.ENOENT: "close an interval once, in the process that opened it"}


def interval_read(interval: int) -> RawInterval:
    """Read an open interval."""
    out = extension().ffi.new("fox_interval *")
    code = extension().lib.fox_interval_read(interval, out)
    check(code, f"reading interval {interval}", _NOT_OPEN)
    return _interval(out)


def interval_end(interval: int) -> RawInterval:
    """Read an interval and close it."""
    out = extension().ffi.new("fox_interval *")
    code = extension().lib.fox_interval_end(interval, out)
    check(code, f"closing interval {interval}", _NOT_OPEN)
    return _interval(out)


def _usage(c: Any) -> Usage:
    return Usage(
        c.user_ns,
        c.system_ns,
        c.minor_faults,
        c.major_faults,
        c.voluntary_ctxt_switches,
        c.involuntary_ctxt_switches,
        c.fs_inputs,
        c.fs_outputs,
    )


def _io(c: Any) -> Io | None:
    if c.rchar_bytes < 0:
        return None
    return Io(
        c.rchar_bytes,
        c.wchar_bytes,
        c.read_calls,
        c.write_calls,
        c.read_bytes,
        c.write_bytes,
        c.cancelled_write_bytes,
    )


def _split(c: Any) -> Split | None:
    parts = (c.anon_bytes, c.file_bytes, c.shmem_bytes, c.swap_bytes, c.hugetlb_bytes)
    return None if all(part < 0 for part in parts) else Split(*map(measured, parts))


def _interval(c: Any) -> RawInterval:
    return RawInterval(
        c.begin_ns,
        c.end_ns,
        c.rss_begin_bytes,
        c.rss_end_bytes,
        measured(c.hwm_bytes),
        measured(c.sampled_bytes),
        c.n_samples,
        -c.hwm_error,
        _usage(c.usage),
        _io(c.io),
        _split(c.split_begin),
        _split(c.split_end),
    )
