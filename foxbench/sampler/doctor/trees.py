"""Checks of what ``foxbench run`` needs to follow a tree of processes."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess

from foxbench.errors import FoxbenchError, SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor.check import (
    Check,
    Roots,
    Values,
    has_proc,
    text_of,
    why_unreadable,
    word_of,
)
from foxbench.sampler.launcher import launcher_path

_PR_GET_CHILD_SUBREAPER = 37  # prctl(2)


def launcher(_roots: Roots) -> Check:
    """The compiled launcher of ``foxbench run``, tried out."""
    path = launcher_path()
    values: Values = {"path": path}
    try:
        done = subprocess.run([path, "--help"], capture_output=True, timeout=10, check=False)
    except PermissionError as error:
        finding = f"foxbench-run cannot be executed: {error.strerror}"
        remedy = f"chmod +x {path}; where its file system is mounted noexec, install elsewhere"
        return Check("launcher", "missing", finding, remedy, values=values)
    except (OSError, subprocess.SubprocessError) as error:
        finding = f"foxbench-run cannot be run: {getattr(error, 'strerror', None) or error}"
        remedy = "build it: python -m pip install -e . in the repository, or install the wheel"
        return Check("launcher", "missing", finding, remedy, values=values)
    if done.returncode != 0:
        finding = f"foxbench-run --help ended with {done.returncode}"
        remedy = "build it anew for this machine: python -m pip install --force-reinstall ."
        return Check("launcher", "missing", finding, remedy, values=values)
    return Check("launcher", "ok", "foxbench-run can be run", values=values)


def children_files(roots: Roots) -> Check:
    """The quick way to find a process's children."""
    why = why_unreadable(roots.proc / "thread-self/children")
    if why:
        remedy = "use a kernel with CONFIG_PROC_CHILDREN; until then all of /proc is scanned"
        remedy = remedy if has_proc(roots) else "see procfs above"
        return Check("children_files", "limited", f"children files: {why}", remedy)
    return Check("children_files", "ok", "children are found without a scan of /proc")


def proportional_set(roots: Roots) -> Check:
    """PSS, which counts shared pages once."""
    path = roots.proc / "self/smaps_rollup"
    text = text_of(path)
    if text is None or "\nPss:" not in text:
        why = why_unreadable(path) or "it has no line Pss"
        remedy = "use Linux 4.14 or later; until then peak_tree_pss_bytes is null"
        remedy = remedy if has_proc(roots) else "see procfs above"
        return Check("proportional_set", "missing", f"smaps_rollup: {why}", remedy)
    return Check("proportional_set", "ok", "smaps_rollup tells PSS")


def compare_memory(_roots: Roots) -> Check:
    """kcmp(2), by which a vfork child is not counted twice."""
    try:
        lowlevel.same_memory(os.getpid(), os.getpid())
    except SamplerError as error:
        finding = f"kcmp: {os.strerror(error.errno)}: children of vfork count twice until they exec"
        remedy = "allow the system call (docker: --cap-add SYS_PTRACE)"
        if error.errno == errno.ENOSYS:
            remedy = "use a kernel with CONFIG_KCMP, or allow the system call (seccomp)"
        return Check("compare_memory", "limited", finding, remedy)
    except FoxbenchError as error:
        return Check("compare_memory", "limited", error.what, error.remedy)
    return Check("compare_memory", "ok", "kcmp works: children of vfork count once")


def subreaper(_roots: Roots) -> Check:
    """Whether orphans come to the launcher."""
    out = ctypes.c_int()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(out), 0, 0, 0):
        why = os.strerror(ctypes.get_errno())
        remedy = "use Linux 3.4 or later without a seccomp filter for prctl"
        return Check("subreaper", "limited", f"orphans are lost to init: {why}", remedy)
    return Check("subreaper", "ok", "orphans are followed and reaped")


def attach(roots: Roots) -> Check:
    """Whose processes ``--attach`` sees in full.

    Resident sets and marks are for everybody to read; PSS and kcmp need ptrace(2)'s access for
    *reading*, that is the same user or CAP_SYS_PTRACE.  Yama's ptrace_scope guards attaching with
    a debugger alone, so it is told and judged harmless.
    """
    scope = word_of(roots.proc / "sys/kernel/yama/ptrace_scope")
    values: Values = {
        "any_user": os.geteuid() == 0,
        "ptrace_scope": int(scope) if scope.isdigit() else None,
    }
    if os.geteuid() == 0:
        return Check("attach", "ok", "--attach can follow any process", values=values)
    finding = "--attach follows processes of this user in full, of others without PSS"
    return Check("attach", "ok", finding, values=values)
