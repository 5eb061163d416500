"""What the instrument can do on this machine: stored beside every figure (measurement rule 6)."""

from __future__ import annotations

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


def capabilities() -> Capabilities:
    """Try the instrument out; SamplerError when even /proc/self/statm cannot be read."""
    lowlevel.rss_bytes()
    problem = hwm_problem()
    return Capabilities(
        hwm_reset=not problem,
        hwm_reset_problem=problem,
        err_bytes=lowlevel.error_bound_here(),
        kernel=platform.release(),
        page_bytes=lowlevel.page_bytes(),
        n_cpus=os.sysconf("SC_NPROCESSORS_ONLN"),
        libc=_libc(),
        quiet_allocator=is_quiet(),
    )


def hwm_problem() -> str:
    """Why the kernel's high-water mark cannot be reset here, found by trying; empty if it can."""
    if not clear_refs_allowed():
        return f"switched off by {NO_CLEAR_REFS_ENV}"
    try:
        lowlevel.hwm_reset()
        mark, rss = lowlevel.status().hwm_bytes, lowlevel.rss_bytes()
    except SamplerError as error:
        return error.what
    if mark is None:
        return "/proc/self/status shows no VmHWM"
    if mark > rss + 2 * lowlevel.error_bound_here() + (1 << 20):
        return "a write to /proc/self/clear_refs is accepted and does nothing"
    return ""


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):
        return "unknown"
