"""What a check says, and where it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

#: ``ok``: works.  ``limited``: works in part, or less exactly.  ``missing``: does not work here.
#: ``info``: nothing that could fail.
STATUSES = ("ok", "limited", "missing", "info")

#: ``all``: without it nothing is measured.  ``exact``: without it peaks are lower bounds.
#: ``none``: the rest goes on without it.
NEEDS = ("all", "exact", "none")


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
    values: dict[str, int | str | bool | None] = field(default_factory=dict)


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


def why_unreadable(path: Path) -> str:
    """Why a file cannot be read; empty when it can."""
    try:
        path.read_bytes()
    except OSError as error:
        return error.strerror or str(error)
    return ""
