"""Finding this process's memory cgroup: cgroups(7), v1, v2 and both at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from foxbench.sampler.doctor.check import Roots, text_of, word_of

#: cgroup v1 writes a limit that is none as the largest multiple of a page in 63 bits.
_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class _Mount:
    root: str  # which folder of the hierarchy is mounted
    point: Path
    version: str  # "v1" or "v2"
    controllers: frozenset[str]


@dataclass(frozen=True)
class MemoryGroup:
    """This process's memory controller.

    Attributes
    ----------
    version : str
        ``v1`` or ``v2``.
    folder, mount : Path
        The group's own folder, and the mount it lies below (or is).
    """

    version: str
    folder: Path
    mount: Path

    def limit_bytes(self) -> int | None:
        """The smallest limit from the group up to the mount; None when there is none."""
        name = "memory.max" if self.version == "v2" else "memory.limit_in_bytes"
        return min(self._numbers_upwards(name), default=None)

    def high_bytes(self) -> int | None:
        """The smallest mark from which on the kernel slows and reclaims (v2); None without."""
        return min(self._numbers_upwards("memory.high"), default=None)

    def peak_name(self) -> str:
        """The file that counts the group's own peak."""
        return "memory.peak" if self.version == "v2" else "memory.max_usage_in_bytes"

    def peak_bytes(self) -> int | None:
        """The group's own peak; None where the kernel counts none."""
        text = word_of(self.folder / self.peak_name())
        return int(text) if text.isdigit() else None

    def _numbers_upwards(self, name: str) -> Iterator[int]:
        for place in (self.folder, *self.folder.parents):
            text = word_of(place / name)
            if text.isdigit() and int(text) < _NO_LIMIT:
                yield int(text)
            if place == self.mount:
                return


def layout(roots: Roots) -> str:
    """``v1``, ``v2``, ``hybrid`` (both are mounted) or ``none``."""
    versions = {mount.version for mount in _mounts(roots)}
    if len(versions) == 2:
        return "hybrid"
    return versions.pop() if versions else "none"


def memory_group(roots: Roots) -> MemoryGroup | None:
    """The group whose limits hold for this process; None without a memory controller."""
    mounts = list(_mounts(roots))
    own = [line.split(":", 2) for line in (text_of(roots.proc / "self/cgroup") or "").splitlines()]
    for _, controllers, path in (parts for parts in own if len(parts) == 3):
        version = "v1" if controllers else "v2"
        if version == "v1" and "memory" not in controllers.split(","):
            continue
        for mount in mounts:
            if mount.version == version and "memory" in mount.controllers:
                return MemoryGroup(version, _folder(mount, path), mount.point)
    return None


def _folder(mount: _Mount, path: str) -> Path:
    """Where a group of the hierarchy lies below a mount, or the mount itself.

    In a container only a part of the hierarchy is mounted: the path then begins with that part,
    or, in a cgroup namespace of its own, climbs out of it by ``/..``, or is the host's altogether.
    """
    group = PurePosixPath(path)
    if ".." in group.parts or not group.is_absolute():
        return mount.point
    if group.is_relative_to(mount.root):
        group = "/" / group.relative_to(mount.root)
    folder = mount.point / str(group).lstrip("/")
    return folder if folder.is_dir() else mount.point


def _mounts(roots: Roots) -> Iterator[_Mount]:
    """Every cgroup file system, from mountinfo (proc(5))."""
    for line in (text_of(roots.proc / "self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        point = Path(fields[4])
        if kind[0] == "cgroup":
            yield _Mount(fields[3], point, "v1", frozenset(kind[-1].split(",")))
        elif kind[0] == "cgroup2":
            able = frozenset((text_of(point / "cgroup.controllers") or "").split())
            yield _Mount(fields[3], point, "v2", able)
