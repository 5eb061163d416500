"""Checks of what one process tells about its own memory."""

from __future__ import annotations

import ctypes
import errno
import os
import stat

from foxbench.errors import FoxbenchError
from foxbench.sampler import lowlevel
from foxbench.sampler._extension import extension
from foxbench.sampler.doctor.check import Check, Roots, Values, has_proc, size
from foxbench.sampler.provenance import NO_CLEAR_REFS_ENV, MarkTrial, try_mark

_PR_GET_DUMPABLE = 3  # prctl(2)

_SANDBOX = "a sandbox (gVisor) emulates /proc: run with the host's kernel (docker: runc)"


def compiled_sampler(_roots: Roots) -> Check:
    """The extension that all in-process figures come from."""
    try:
        extension()
    except FoxbenchError as error:
        return Check("compiled_sampler", "missing", error.what, error.remedy, "all")
    return Check("compiled_sampler", "ok", "loads", needed_for="all")


def statm(_roots: Roots) -> Check:
    """The resident set, the unit of all samples."""
    try:
        rss_bytes = lowlevel.rss_bytes()
    except FoxbenchError as error:
        return Check("statm", "missing", error.what, error.remedy, "all")
    values: Values = {"rss_bytes": rss_bytes}
    return Check("statm", "ok", "the resident set can be read", "", "all", values)


def high_water_mark(roots: Roots) -> Check:
    """The mark and its reset, tried on a spike: what makes a peak exact."""
    name = "high_water_mark"
    try:
        trial = try_mark(spike=True)
    except FoxbenchError as error:
        return Check(name, "missing", error.what, error.remedy, "exact")
    values: Values = {"cause": trial.cause or None, "errno": trial.errno or None}
    if trial.cause:
        return Check(name, "missing", trial.problem, _remedy(trial, roots), "exact", values)
    bound = lowlevel.error_bound_here()
    finding = f"VmHWM can be reset: peaks are exact to {size(bound)}"
    return Check(name, "ok", finding, "", "exact", {**values, "err_bytes": bound})


def _remedy(trial: MarkTrial, roots: Roots) -> str:
    """What mends a mark that cannot be reset, by its cause."""
    if trial.cause == "switched_off":
        return f"unset {NO_CLEAR_REFS_ENV}"
    if not has_proc(roots):
        return "see procfs above"
    if trial.cause == "no_mark":
        return _SANDBOX
    if _masked(roots):
        return "something is mounted over /proc/self/clear_refs: umount it; docker: do not mask it"
    if trial.cause == "no_effect":
        return _SANDBOX
    if trial.errno == errno.EROFS:
        return "mount /proc read-write: mount -o remount,rw /proc; in a container, its own /proc"
    if trial.errno == errno.ENOENT:
        return "use a kernel with CONFIG_PROC_PAGE_MONITOR; no container option brings it"
    if trial.errno in (errno.EACCES, errno.EPERM) and not _dumpable():
        return (
            "this process changed its user, or was made undumpable (PR_SET_DUMPABLE): start it as "
            "the user it runs as, by exec"
        )
    return "allow this user to write /proc/self/clear_refs (SELinux, AppArmor, seccomp)"


def _masked(roots: Roots) -> bool:
    """Whether another file was mounted over it: of another file system, or a device."""
    try:
        file, folder = os.stat(roots.proc / "self/clear_refs"), os.stat(roots.proc / "self")
    except OSError:
        return False
    return file.st_dev != folder.st_dev or stat.S_ISCHR(file.st_mode)


def _dumpable() -> bool:
    return bool(ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1)


def memory_split(roots: Roots) -> Check:
    """What the resident set is made of."""
    try:
        status = lowlevel.status()
    except FoxbenchError as error:
        return _unread("memory_split", error, roots)
    parts: Values = {
        "anon_bytes": status.anon_bytes,
        "file_bytes": status.file_bytes,
        "shmem_bytes": status.shmem_bytes,
        "swap_bytes": status.swap_bytes,
        "hugetlb_bytes": status.hugetlb_bytes,
    }
    absent = [key.removesuffix("_bytes") for key, value in parts.items() if value is None]
    if absent:
        remedy = "use Linux 4.5 or later; what is absent is reported as not measured"
        return Check("memory_split", "limited", f"no {', '.join(absent)}", remedy, values=parts)
    return Check("memory_split", "ok", "anon, file, shmem, swap and hugetlb", values=parts)


def io_counters(roots: Roots) -> Check:
    """Bytes read and written."""
    try:
        lowlevel.io()
    except FoxbenchError as error:
        return _unread("io_counters", error, roots)
    return Check("io_counters", "ok", "/proc/self/io can be read")


def cpu_and_faults(roots: Roots) -> Check:
    """CPU time, faults and context switches, by getrusage(2)."""
    try:
        lowlevel.usage()
    except FoxbenchError as error:
        return _unread("cpu_and_faults", error, roots)
    return Check("cpu_and_faults", "ok", "getrusage tells CPU time, faults and context switches")


def _unread(name: str, error: FoxbenchError, roots: Roots) -> Check:
    """A figure that could not be had; without a /proc its own remedy would mislead."""
    remedy = error.remedy if has_proc(roots) else "see procfs above"
    return Check(name, "missing", error.what, remedy or "see the error's cause above")
