"""Checks of how much memory there is, and who may take it away."""

from __future__ import annotations

from pathlib import Path

from foxbench.sampler.doctor.check import Check, Roots, text_of

#: cgroup v1 writes a limit that is none as the largest multiple of a page in 63 bits.
_NO_LIMIT = 1 << 62


def _mounts(roots: Roots) -> list[tuple[Path, str, str]]:
    """Mount point, type and super options of every cgroup file system."""
    found = []
    for line in (text_of(roots.proc / "self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) > 4 and kind[:1] and kind[0] in ("cgroup", "cgroup2"):
            found.append((Path(fields[4]), kind[0], kind[-1]))
    return found


def _memory_folder(roots: Roots) -> tuple[str, Path, Path] | None:
    """``v1`` or ``v2``, the folder of this process's memory controller, and its mount point."""
    mounts = _mounts(roots)
    own = [line.split(":", 2) for line in (text_of(roots.proc / "self/cgroup") or "").splitlines()]
    for _, controllers, path in (parts for parts in own if len(parts) == 3):
        for point, kind, options in mounts:
            v1 = kind == "cgroup" and "memory" in controllers.split(",") and "memory" in options
            v2 = kind == "cgroup2" and controllers == "" and _has_memory(point)
            if v1 or v2:
                folder = point / path.strip("/")
                # In a container the path is the host's, and the mount is already ours.
                return ("v2" if v2 else "v1", folder if folder.is_dir() else point, point)
    return None


def _has_memory(point: Path) -> bool:
    return "memory" in (text_of(point / "cgroup.controllers") or "").split()


def _limit_bytes(version: str, folder: Path, point: Path) -> int | None:
    """The smallest limit from the folder up to the mount; None when there is none."""
    name = "memory.max" if version == "v2" else "memory.limit_in_bytes"
    limits = []
    for place in (folder, *folder.parents):
        text = (text_of(place / name) or "").strip()
        if text.isdigit() and int(text) < _NO_LIMIT:
            limits.append(int(text))
        if place == point:
            break
    return min(limits, default=None)


def _meminfo_bytes(roots: Roots, key: str) -> int | None:
    for line in (text_of(roots.proc / "meminfo") or "").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def memory_limit(roots: Roots) -> Check:
    """What a process may use: the cgroup's limit, or all of the machine."""
    total = _meminfo_bytes(roots, "MemTotal")
    found = _memory_folder(roots)
    values: dict[str, int | str | bool | None] = {
        "host_bytes": total,
        "limit_bytes": None,
        "cgroup": None,
    }
    if found is None:
        finding = "no memory cgroup: the machine's own memory is the limit"
        return Check("memory_limit", "info", finding, values=values)
    version, folder, point = found
    limit = _limit_bytes(version, folder, point)
    values.update(cgroup=version, limit_bytes=limit)
    if limit is None or (total is not None and limit >= total):
        finding = f"cgroup {version} sets none: all {_gib(total)} of the machine"
        return Check("memory_limit", "ok", finding, values=values)
    finding = f"cgroup {version}: {_gib(limit)} of the machine's {_gib(total)}"
    return Check("memory_limit", "ok", finding, values=values)


def cgroup_peak(roots: Roots) -> Check:
    """Whether the cgroup counts a peak of its own."""
    found = _memory_folder(roots)
    if found is None:
        return Check("cgroup_peak", "info", "no memory cgroup here")
    version, folder, _ = found
    name = "memory.peak" if version == "v2" else "memory.max_usage_in_bytes"
    text = (text_of(folder / name) or "").strip()
    if not text.isdigit():
        remedy = "use Linux 5.19 or later; the root group never has one"
        return Check("cgroup_peak", "info", f"cgroup {version} without {name} here", remedy)
    finding = f"cgroup {version} counts {name}, page cache included"
    return Check("cgroup_peak", "ok", finding, values={"peak_bytes": int(text)})


def swap(roots: Roots) -> Check:
    """Swapped pages leave the resident set, and so every peak."""
    total = _meminfo_bytes(roots, "SwapTotal")
    values: dict[str, int | str | bool | None] = {"swap_bytes": total}
    if total:
        finding = f"{_gib(total)} of swap: under pressure a resident set shrinks without a free"
        remedy = "swapoff -a while measuring, or watch split_end.swap_bytes"
        return Check("swap", "limited", finding, remedy, values=values)
    return Check("swap", "ok", "none: what is allocated and touched stays resident", values=values)


def overcommit(roots: Roots) -> Check:
    """Whether an allocation is refused or its process killed when memory runs out."""
    text = (text_of(roots.proc / "sys/vm/overcommit_memory") or "").strip()
    meaning = {
        "0": "heuristic: a process too large is killed, seldom refused",
        "1": "always: a process too large is killed, never refused",
        "2": "strict: an allocation too large is refused",
    }.get(text)
    if meaning is None:
        return Check("overcommit", "info", "the kernel does not say")
    return Check("overcommit", "info", meaning, values={"overcommit_memory": int(text)})


def _gib(n_bytes: int | None) -> str:
    return "unknown" if n_bytes is None else f"{n_bytes / 2**30:.2f} GiB"
