"""A real limit of a training's memory: a control group where one can be made, else RLIMIT_DATA.

A control group counts everything the kernel charges to the processes in it and kills what goes
over it (cgroups(7), memory in cgroup-v2.rst; v1 as well).  Where none can be made (no rights, a
group whose parent holds processes), setrlimit(2)'s RLIMIT_DATA refuses further private memory
instead: it is set before the first step, to what the limit leaves above what is resident then.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from foxbench.errors import NotMeasured
from foxbench.profile import oom
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor.cgroup import MemoryGroup, memory_group
from foxbench.sampler.doctor.check import Roots

#: ``cgroup``: the whole training lives in a group of its own.  ``rlimit``: RLIMIT_DATA.
KINDS = ("cgroup", "rlimit")

_REMOVE_TRIES = 50


@dataclass(frozen=True)
class Enclosure:
    """What a training process is started in.

    Attributes
    ----------
    kind : str or None
        One of ``KINDS``; None without a limit.
    join : callable or None
        To be called in the child between fork and exec; None where the child limits itself.
    oom_kills : callable
        How many processes of the enclosure the kernel has killed for want of memory.
    """

    kind: str | None
    join: Callable[[], None] | None
    oom_kills: Callable[[], int]


@contextlib.contextmanager
def enclosure(limit_bytes: int | None) -> Iterator[Enclosure]:
    """The enclosure for a limit, gone again at the end."""
    if limit_bytes is None:
        yield Enclosure(None, None, lambda: 0)
        return
    folder = _make_group(limit_bytes)
    if folder is None:
        yield Enclosure("rlimit", None, lambda: 0)
        return
    entry = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        yield Enclosure("cgroup", lambda: _join(entry), lambda: _kills(folder))
    finally:
        os.close(entry)
        _remove(folder)


def restrict_data(limit_bytes: int) -> None:
    """Let this process take no more private memory than the limit leaves above what it has.

    Pages of files, libraries above all, do not count: a control group drops them before it kills.

    Raises
    ------
    MemoryError
        It has more than the limit already.
    """
    has_bytes = lowlevel.rss_bytes() - _status_bytes(b"RssFile:")
    left_bytes = limit_bytes - has_bytes
    if left_bytes <= 0:
        raise MemoryError(
            f"{has_bytes} private bytes are resident before the first step, the limit is "
            f"{limit_bytes}"
        )
    allowed = _status_bytes(b"VmData:") + left_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def _status_bytes(key: bytes) -> int:
    """A size of proc_pid_status(5); RLIMIT_DATA counts its VmData."""
    for line in Path("/proc/self/status").read_bytes().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise NotMeasured(f"/proc/self/status has no {key.decode()} to set a limit by")


def _make_group(limit_bytes: int) -> Path | None:
    """A new group below this process's own, limited; None where that is not possible."""
    own = memory_group(Roots())
    if own is None:
        return None
    folder = own.folder / f"foxbench-{os.getpid()}-{time.monotonic_ns()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        _set_limit(own, folder, limit_bytes)
        with (folder / "cgroup.procs").open("rb+"):
            pass
    except OSError:
        _remove(folder)
        return None
    return folder


def _set_limit(own: MemoryGroup, folder: Path, limit_bytes: int) -> None:
    if own.version == "v2":
        (folder / "memory.max").write_text(str(limit_bytes))
        # Swapped-out pages would hide the want of memory.
        with contextlib.suppress(OSError):
            (folder / "memory.swap.max").write_text("0")
        with contextlib.suppress(OSError):
            (folder / "memory.oom.group").write_text("1")
        return
    (folder / "memory.limit_in_bytes").write_text(str(limit_bytes))
    with contextlib.suppress(OSError):
        (folder / "memory.memsw.limit_in_bytes").write_text(str(limit_bytes))


def _join(entry: int) -> None:
    os.write(entry, b"0")


def _kills(folder: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            count = oom.kill_count((folder / name).read_bytes())
            if count is not None:
                return count
    return 0


def _remove(folder: Path) -> None:
    """Remove the group; its last process may take a moment to leave it."""
    for _ in range(_REMOVE_TRIES):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)
        else:
            return
