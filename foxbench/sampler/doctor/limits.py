"""Checks of how much memory there is, and who may take it away."""

from __future__ import annotations

from foxbench.sampler.doctor.cgroup import layout, memory_group
from foxbench.sampler.doctor.check import Check, Roots, Values, size, text_of, word_of


def _meminfo_bytes(roots: Roots, key: str) -> int | None:
    for line in (text_of(roots.proc / "meminfo") or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == f"{key}:" and words[1].isdigit():
            return int(words[1]) * 1024
    return None


def memory_limit(roots: Roots) -> Check:
    """What a process may use: the cgroup's limit, or all of the machine."""
    name = "memory_limit"
    host, group = _meminfo_bytes(roots, "MemTotal"), memory_group(roots)
    values: Values = {
        "host_bytes": host,
        "limit_bytes": None,
        "high_bytes": None,
        "cgroup": None,
        "layout": layout(roots),
    }
    machine = "all memory of the machine" if host is None else f"all {size(host)} of the machine"
    if group is None:
        finding = f"no memory cgroup can be seen here: {machine}"
        return Check(name, "info", finding, values=values)
    limit, high = group.limit_bytes(), group.high_bytes()
    values.update(cgroup=group.version, limit_bytes=limit, high_bytes=high)
    if high is not None and (limit is None or high < limit) and (host is None or high < host):
        finding = f"cgroup {group.version} slows and reclaims from {size(high)} on (memory.high)"
        remedy = "raise memory.high while measuring: what is reclaimed is in no peak"
        return Check(name, "limited", finding, remedy, values=values)
    if limit is None or (host is not None and limit >= host):
        return Check(name, "ok", f"cgroup {group.version} sets none: {machine}", values=values)
    finding = f"cgroup {group.version}: {size(limit)} of the machine's {size(host)}"
    return Check(name, "ok", finding, values=values)


def cgroup_peak(roots: Roots) -> Check:
    """Whether the cgroup counts a peak of its own."""
    group = memory_group(roots)
    if group is None:
        return Check("cgroup_peak", "info", "no memory cgroup can be seen here")
    name, peak = group.peak_name(), group.peak_bytes()
    values: Values = {"peak_bytes": peak}
    if peak is None:
        finding = f"cgroup {group.version} without {name} here"
        remedy = "use Linux 5.19 or later; the root group never has one"
        return Check("cgroup_peak", "info", finding, remedy, values=values)
    finding = f"cgroup {group.version} counts {name}, page cache included"
    return Check("cgroup_peak", "ok", finding, values=values)


def swap(roots: Roots) -> Check:
    """Swapped pages leave the resident set, and so every peak."""
    total = _meminfo_bytes(roots, "SwapTotal")
    values: Values = {"swap_bytes": total}
    if total is None:
        return Check("swap", "info", "not known: /proc/meminfo tells none", values=values)
    if total:
        finding = f"{size(total)} of swap: under pressure a resident set shrinks without a free"
        remedy = "swapoff -a while measuring, or watch split_end.swap_bytes"
        return Check("swap", "limited", finding, remedy, values=values)
    return Check("swap", "ok", "none: what is allocated and touched stays resident", values=values)


def overcommit(roots: Roots) -> Check:
    """Whether an allocation is refused or its process killed when memory runs out."""
    text = word_of(roots.proc / "sys/vm/overcommit_memory")
    meaning = {
        "0": "heuristic: a process too large is killed, seldom refused",
        "1": "always: a process too large is killed, never refused",
        "2": "strict: an allocation too large is refused",
    }.get(text)
    if meaning is None:
        return Check("overcommit", "info", "not known: the kernel does not tell")
    return Check("overcommit", "info", meaning, values={"overcommit_memory": int(text)})
