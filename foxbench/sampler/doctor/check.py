"""What a check says, and where it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

#: ``ok``: works.  ``limited``: works in part, or less exactly.  ``missing``: does not work here.
#: ``info``: nothing that could fail, or the machine does not tell.
STATUSES = ("ok", "limited", "missing", "info")

#: ``all``: without it nothing is measured.  ``exact``: without it peaks are lower bounds.
#: ``none``: the rest goes on without it.
NEEDS = ("all", "exact", "none")

#: Figures of a check by name, units in the names; None where not measured.
Values: TypeAlias = "dict[str, int | str | bool | None]"


@dataclass(frozen=True)
class Check:
    """The answer of one check.

    Attributes
    ----------
    name : str
        Stable, for scripts.
    status : str
        One of ``STATUSES``.
    finding : str
        What was found, in one line.
    remedy : str
        What mends it; empty where nothing needs to be.
    needed_for : str
        One of ``NEEDS``.
    values : dict
        Figures of the check by name, units in the names; None where not measured.
    """

    name: str
    status: str
    finding: str
    remedy: str = ""
    needed_for: str = "none"
    values: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Roots:
    """Where the kernel's files lie; other folders in tests."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


def text_of(path: Path) -> str | None:
    """A small file's text; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def word_of(path: Path) -> str:
    """A one-line file's text without white space around it; empty where it cannot be read."""
    return (text_of(path) or "").strip()


def why_unreadable(path: Path) -> str:
    """Why a file cannot be read; empty when it can."""
    try:
        path.read_bytes()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def has_proc(roots: Roots) -> bool:
    """Whether there is a /proc at all; without one its files' absence says nothing more."""
    return text_of(roots.proc / "self/statm") is not None


def size(n_bytes: int | None) -> str:
    """Bytes for people: ``744 KiB``, ``23.54 GiB``; ``unknown`` for None."""
    if n_bytes is None:
        return "unknown"
    for unit, shift in (("GiB", 30), ("MiB", 20)):
        if n_bytes >= 1 << shift:
            return f"{n_bytes / (1 << shift):.2f} {unit}"
    return f"{n_bytes / 1024:.0f} KiB"
