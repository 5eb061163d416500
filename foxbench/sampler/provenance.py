"""What the instrument can do on this machine: stored beside every figure (measurement rule 6)."""

from __future__ import annotations

import errno
import mmap
import os
import platform
from dataclasses import dataclass

from foxbench.errors import SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.allocator import is_quiet
from foxbench.sampler.result import MEASUREMENT_VERSION

#: Set to 1 to leave the kernel's mark alone and sample only, e.g. where an outer tool such as GNU
#: time reads the mark of this process afterwards.
NO_CLEAR_REFS_ENV = "FOXBENCH_NO_CLEAR_REFS"


@dataclass(frozen=True)
class Capabilities:
    """Provenance of a figure.

    Attributes
    ----------
    hwm_reset : bool
        Whether the kernel's high-water mark can be reset, so that peaks are exact.
    hwm_reset_problem : str
        Why not; empty when it can.
    err_bytes : int
        How far a mark may lie below the truth here, with the threads there are now.
    kernel : str
        Release, as uname(2) gives it.
    page_bytes, n_cpus : int
        ``n_cpus`` are the machine's online CPUs, whatever this process may use: the kernel
        batches its counters by them.
    libc : str
        For instance ``glibc 2.36``; ``unknown`` where it does not say.
    quiet_allocator : bool
        Whether it is on in this process.
    measurement_version : int
    """

    hwm_reset: bool
    hwm_reset_problem: str
    err_bytes: int
    kernel: str
    page_bytes: int
    n_cpus: int
    libc: str
    quiet_allocator: bool
    measurement_version: int = MEASUREMENT_VERSION


def clear_refs_allowed() -> bool:
    """Whether the user lets us reset the mark: ``FOXBENCH_NO_CLEAR_REFS`` unset, empty or 0."""
    return os.environ.get(NO_CLEAR_REFS_ENV, "") in ("", "0")


@dataclass(frozen=True)
class MarkTrial:
    """How a reset of the high-water mark went.

    Attributes
    ----------
    cause : str
        Empty where it works.  ``switched_off``: by ``FOXBENCH_NO_CLEAR_REFS``.  ``refused``: a
        file of /proc could not be read or written, see ``errno``.  ``no_mark``: the kernel shows
        no VmHWM.  ``no_effect``: the write succeeds and the mark stays, as under gVisor or where
        something was mounted over the file.
    problem : str
        The same in words; empty where it works.
    errno : int
        Positive error number of ``refused``, else 0.
    """

    cause: str = ""
    problem: str = ""
    errno: int = 0


def capabilities() -> Capabilities:
    """Try the instrument out; SamplerError when even /proc/self/statm cannot be read."""
    lowlevel.rss_bytes()
    problem = try_mark().problem
    return Capabilities(
        hwm_reset=not problem,
        hwm_reset_problem=problem,
        err_bytes=lowlevel.error_bound_here(),
        kernel=platform.release(),
        page_bytes=lowlevel.page_bytes(),
        n_cpus=os.sysconf("SC_NPROCESSORS_ONLN"),
        libc=libc(),
        quiet_allocator=is_quiet(),
    )


def try_mark(spike: bool = False) -> MarkTrial:
    """Reset the mark and see whether it falls.

    A process that stands at its highest cannot tell a reset that works from one that does
    nothing.  With ``spike`` some 32 MB are touched and given back first, so that the answer is
    certain; they stay in the lifetime peak, and are for a process that measures nothing else.
    """
    if not clear_refs_allowed():
        return MarkTrial("switched_off", f"switched off by {NO_CLEAR_REFS_ENV}")
    expected_fall_bytes = _touch_and_release() if spike else 0
    try:
        before = lowlevel.status().hwm_bytes
        lowlevel.hwm_reset()
        mark, rss = lowlevel.status().hwm_bytes, lowlevel.rss_bytes()
        slack = 2 * lowlevel.error_bound_here() + (1 << 20)
    except SamplerError as error:
        if error.errno == errno.ENODATA:  # what C says of a status without the line
            return MarkTrial("no_mark", _NO_MARK)
        return MarkTrial("refused", error.what, error.errno)
    if before is None or mark is None:
        return MarkTrial("no_mark", _NO_MARK)
    # The bound is for a kernel that is never asked; one that just touched and released pages on
    # one CPU is behind by a few batches, far less than half the spike.
    stays = mark > before - expected_fall_bytes // 2 if spike else mark > rss + slack
    return MarkTrial("no_effect", _NO_EFFECT) if stays else MarkTrial()


_NO_MARK = "/proc/self/status shows no VmHWM"
_NO_EFFECT = "a write to /proc/self/clear_refs is accepted and does nothing"


def _touch_and_release() -> int:
    """Raise the mark and come down again; how many bytes the mark should fall by."""
    page_bytes = lowlevel.page_bytes()
    # A per-CPU counter is summed up each max(32, 2 * CPUs) pages (lib/percpu_counter.c).
    batch_bytes = max(32, 2 * os.sysconf("SC_NPROCESSORS_ONLN")) * page_bytes
    size_bytes = max(32 << 20, 8 * batch_bytes)
    with mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as spike:
        for at in range(0, size_bytes, page_bytes):
            spike[at] = 1
    return size_bytes


def libc() -> str:
    """For instance ``glibc 2.36``; ``unknown`` where it does not say."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):
        return "unknown"
