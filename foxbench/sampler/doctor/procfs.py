"""The check of /proc itself: is it there, whose is it, and what does it hide."""

from __future__ import annotations

import os

from foxbench.sampler.doctor.check import Check, Roots, Values, text_of, why_unreadable

#: Values of ``hidepid`` that hide nothing (proc(5)).
_HIDES_NOTHING = ("hidepid=0", "hidepid=off")

NO_PROC_REMEDY = "mount it: mount -t proc proc /proc; docker: do not mask /proc"


def mount_options(roots: Roots) -> list[str] | None:
    """The mount options of /proc from mountinfo (proc(5)); None when it is no procfs.

    The last mount over a place is the one that shows.
    """
    found = None
    for line in (text_of(roots.proc / "self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) > 5 and kind and fields[4] == str(roots.proc):
            options = fields[5].split(",") + kind[-1].split(",")
            found = options if kind[0] == "proc" else None
    return found


def of_another_namespace(roots: Roots) -> bool:
    """Whether its numbers are not ours: a pid namespace without a /proc of its own."""
    try:
        return os.readlink(roots.proc / "self") != str(os.getpid())
    except OSError:
        return False


def procfs(roots: Roots) -> Check:
    """Whether /proc is there, is ours, can be written and shows other processes."""
    name = "procfs"
    why = why_unreadable(roots.proc / "self/statm")
    if why:
        finding = f"/proc/self/statm cannot be read: {why}"
        return Check(name, "missing", finding, NO_PROC_REMEDY, "all")
    options = mount_options(roots)
    values: Values = {"options": None if options is None else ",".join(options)}
    faults = list(_faults(roots, options))
    if faults:
        finding = "; ".join(fault for fault, _ in faults)
        remedy = "; ".join(remedy for _, remedy in faults)
        return Check(name, "limited", finding, remedy, "all", values)
    hidepid = _hidepid(options or [])
    finding = f"mounted, writable, {hidepid} hides nothing from root" if hidepid else ""
    finding = finding or "mounted, writable, hides nothing"
    return Check(name, "ok", finding, "", "all", values)


def _hidepid(options: list[str]) -> str:
    found = [o for o in options if o.startswith("hidepid=") and o not in _HIDES_NOTHING]
    return found[-1] if found else ""


def _faults(roots: Roots, options: list[str] | None) -> list[tuple[str, str]]:
    """What is wrong with a /proc that can be read, each with its remedy."""
    faults = []
    if of_another_namespace(roots):
        faults.append(
            (
                "/proc is of another pid namespace: its numbers are other processes, and a tree "
                "cannot be followed",
                "unshare --mount-proc, or: mount -t proc proc /proc",
            )
        )
    if options is None:
        finding = "what lies at /proc is not in the list of mounts: an emulation, or chroot"
        return [*faults, (finding, "see the checks below for what it lacks")]
    if "ro" in options:
        remedy = "mount -o remount,rw /proc; in a container, start it with its own /proc"
        faults.append(("read-only: marks cannot be reset", remedy))
    hidepid = _hidepid(options)
    if hidepid and os.geteuid() != 0:
        remedy = "run as the user of the processes, or: mount -o remount,hidepid=0 /proc"
        faults.append((f"{hidepid}: processes of other users are hidden", remedy))
    if "subset=pid" in options:
        finding = (
            "subset=pid: only processes are shown, the machine's memory and last pid are not known"
        )
        faults.append((finding, "mount a whole one: mount -t proc proc /proc"))
    return faults
