"""Checks of what ``foxbench run`` needs to follow a tree of processes."""

from __future__ import annotations

import ctypes
import os
import subprocess

from foxbench.errors import FoxbenchError
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor.check import Check, Roots, text_of, why_unreadable
from foxbench.sampler.launcher import launcher_path

_PR_GET_CHILD_SUBREAPER = 37  # prctl(2)


def launcher(_roots: Roots) -> Check:
    """The compiled launcher of ``foxbench run``, tried out."""
    path = launcher_path()
    remedy = "build it: python -m pip install -e . in the repository, or install the wheel"
    try:
        done = subprocess.run([path, "--help"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("launcher", "missing", f"foxbench-run cannot be run: {error}", remedy)
    if done.returncode != 0:
        finding = f"foxbench-run --help ended with {done.returncode}"
        return Check("launcher", "missing", finding, remedy)
    return Check("launcher", "ok", "foxbench-run can be run")


def children_files(roots: Roots) -> Check:
    """The quick way to find a process's children."""
    path = roots.proc / f"self/task/{os.getpid()}/children"
    why = why_unreadable(path)
    if why:
        remedy = "use a kernel with CONFIG_PROC_CHILDREN; until then all of /proc is scanned"
        return Check("children_files", "limited", f"{path.name} files: {why}", remedy)
    return Check("children_files", "ok", "children are found without a scan of /proc")


def proportional_set(roots: Roots) -> Check:
    """PSS, which counts shared pages once."""
    path = roots.proc / "self/smaps_rollup"
    text = text_of(path)
    if text is None or "\nPss:" not in text:
        why = why_unreadable(path) or "it has no line Pss"
        remedy = "use Linux 4.14 or later; until then peak_tree_pss_bytes is null"
        return Check("proportional_set", "missing", f"smaps_rollup: {why}", remedy)
    return Check("proportional_set", "ok", "smaps_rollup tells PSS")


def compare_memory(_roots: Roots) -> Check:
    """kcmp(2), by which a vfork child is not counted twice."""
    try:
        lowlevel.same_memory(os.getpid(), os.getpid())
    except FoxbenchError as error:
        remedy = (
            "allow the system call kcmp (docker: --cap-add SYS_PTRACE, or Linux 5.12 and later)"
        )
        finding = f"{error.what}: children of vfork count twice for the moments before they exec"
        return Check("compare_memory", "limited", finding, remedy)
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
    """Whose processes ``--attach`` can see in full (Yama, ptrace(2))."""
    scope = (text_of(roots.proc / "sys/kernel/yama/ptrace_scope") or "").strip()
    values: dict[str, int | str | bool | None] = {"ptrace_scope": int(scope) if scope else None}
    if scope in ("2", "3") and os.geteuid() != 0:
        finding = f"ptrace_scope {scope}: PSS of processes not started here is hidden"
        return Check(
            "attach", "limited", finding, "sysctl kernel.yama.ptrace_scope=1", values=values
        )
    finding = "any process" if os.geteuid() == 0 else "processes of this user"
    return Check("attach", "ok", f"--attach can follow {finding}", values=values)
