"""Did the kernel kill a process for want of memory?  The counters that tell.

SIGKILL alone does not say who sent it.  The kernel counts its own kills per control group (v2:
``memory.events``; v1: ``memory.oom_control``) and for the whole machine (``/proc/vmstat``), see
proc_vmstat(5) and the kernel's cgroup-v2.rst.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_COUNT = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)

#: What torch's CPU and CUDA allocators say when the system refuses, in a plain RuntimeError.
_REFUSALS = ("can't allocate memory", "not enough memory", "out of memory")


def kills(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> dict[str, int]:
    """The kernel's counts of out-of-memory kills so far, by the file they stand in.

    Only readable files appear; compare two calls with :func:`rose`.
    """
    counts: dict[str, int] = {}
    for path in [*_cgroup_files(proc, cgroups), proc / "vmstat"]:
        try:
            count = kill_count(path.read_bytes())
        except OSError:
            continue
        if count is not None:
            counts[str(path)] = count
    return counts


def kill_count(text: bytes) -> int | None:
    """The count in such a file's text; None where it has none."""
    match = _COUNT.search(text)
    return int(match.group(1)) if match else None


def rose(before: dict[str, int], after: dict[str, int]) -> bool:
    """Whether a kill was counted in between."""
    return any(count > before.get(path, count) for path, count in after.items())


def is_refusal(error: BaseException) -> bool:
    """Whether an exception means that memory was asked for and refused."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(part in text for part in _REFUSALS)


def _cgroup_files(proc: Path, cgroups: Path) -> list[Path]:
    """The group of this process and every group above it."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    files: list[Path] = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, name = cgroups, "memory.events"
        elif "memory" in controllers.split(","):
            base, name = cgroups / "memory", "memory.oom_control"
        else:
            continue
        here = Path(os.path.normpath(group.lstrip("/")))
        files += [base / part / name for part in [here, *here.parents]]
    return files
