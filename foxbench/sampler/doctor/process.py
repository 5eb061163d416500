"""Checks of what one process tells about its own memory."""

from __future__ import annotations

from foxbench.errors import FoxbenchError, SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler._extension import extension
from foxbench.sampler.doctor.check import Check, Roots, text_of, why_unreadable
from foxbench.sampler.provenance import NO_CLEAR_REFS_ENV, clear_refs_allowed, hwm_problem


def compiled_sampler(_roots: Roots) -> Check:
    """The extension that all in-process figures come from."""
    try:
        extension()
    except FoxbenchError as error:
        return Check("compiled_sampler", "missing", error.what, error.remedy, "all")
    return Check("compiled_sampler", "ok", "loads", needed_for="all")


def _proc_options(roots: Roots) -> list[str] | None:
    """The mount options of /proc from mountinfo (proc(5)); None when it is no procfs.

    The last mount over a place is the one that shows.
    """
    found = None
    for line in (text_of(roots.proc / "self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) > 5 and kind[:1] == ["proc"] and fields[4] == str(roots.proc):
            found = fields[5].split(",") + kind[-1].split(",")
    return found


def procfs(roots: Roots) -> Check:
    """Whether /proc is there, writable, and shows other processes."""
    name = "procfs"
    if text_of(roots.proc / "self/statm") is None:
        why = why_unreadable(roots.proc / "self/statm")
        remedy = "mount it: mount -t proc proc /proc; docker: do not mask /proc"
        return Check(name, "missing", f"/proc/self/statm cannot be read: {why}", remedy, "all")
    options = _proc_options(roots)
    if options is None:
        finding = "what lies at /proc is not in the list of mounts: an emulation, or chroot"
        return Check(name, "limited", finding, "see the checks below for what it lacks", "all")
    hides = [o for o in options if o.startswith("hidepid=") or o == "subset=pid"]
    hides = [o for o in hides if o not in ("hidepid=0", "hidepid=off")]
    if hides:
        finding = f"{', '.join(hides)}: processes of other users are hidden"
        remedy = "run as the user of the processes, or: mount -o remount,hidepid=0 /proc"
        return Check(name, "limited", finding, remedy, "all", {"options": ",".join(options)})
    if "ro" in options:
        remedy = "mount -o remount,rw /proc; in a container, start it with its own /proc"
        return Check(name, "limited", "read-only: marks cannot be reset", remedy, "all")
    return Check(name, "ok", "mounted, writable, hides nothing", needed_for="all")


def statm(_roots: Roots) -> Check:
    """The resident set, the unit of all samples."""
    try:
        rss_bytes = lowlevel.rss_bytes()
    except FoxbenchError as error:
        return Check("statm", "missing", error.what, error.remedy, "all")
    values: dict[str, int | str | bool | None] = {"rss_bytes": rss_bytes}
    return Check("statm", "ok", "the resident set can be read", "", "all", values)


def high_water_mark(roots: Roots) -> Check:
    """The mark and its reset: what makes a peak exact."""
    name = "high_water_mark"
    try:
        problem = hwm_problem()
        bound = lowlevel.error_bound_here()
    except FoxbenchError as error:
        return Check(name, "missing", error.what, error.remedy, "exact")
    if not problem:
        finding = f"VmHWM can be reset: peaks are exact to {bound:,} bytes"
        return Check(name, "ok", finding, "", "exact", {"err_bytes": bound})
    if not clear_refs_allowed():
        remedy = f"unset {NO_CLEAR_REFS_ENV}"
    elif "does nothing" in problem:
        remedy = "a sandbox (gVisor) emulates /proc: run with the host's kernel (docker: runc)"
    elif not (roots.proc / "self/clear_refs").exists():
        remedy = "use a kernel with CONFIG_PROC_PAGE_MONITOR; no container option brings it"
    else:
        remedy = (
            "mount /proc read-write, do not mask /proc/self/clear_refs, and start the process "
            "as the user it runs as"
        )
    return Check(name, "missing", problem, remedy, "exact")


def memory_split(_roots: Roots) -> Check:
    """What the resident set is made of."""
    try:
        status = lowlevel.status()
    except FoxbenchError as error:
        return Check("memory_split", "missing", error.what, error.remedy)
    parts = {
        "anon_bytes": status.anon_bytes,
        "file_bytes": status.file_bytes,
        "shmem_bytes": status.shmem_bytes,
        "swap_bytes": status.swap_bytes,
        "hugetlb_bytes": status.hugetlb_bytes,
    }
    absent = [key.removesuffix("_bytes") for key, value in parts.items() if value is None]
    if absent:
        remedy = "use Linux 4.5 or later; what is absent is reported as not measured"
        return Check("memory_split", "limited", f"no {', '.join(absent)}", remedy, values={**parts})
    return Check("memory_split", "ok", "anon, file, shmem, swap and hugetlb", values={**parts})


def io_counters(_roots: Roots) -> Check:
    """Bytes read and written."""
    try:
        lowlevel.io()
    except SamplerError as error:
        return Check("io_counters", "missing", error.what, error.remedy)
    except FoxbenchError as error:
        return Check("io_counters", "missing", error.what, error.remedy)
    return Check("io_counters", "ok", "/proc/self/io can be read")
