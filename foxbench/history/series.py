"""The frozen data between reading asv's results and judging them; bytes are whole numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Commit:
    """One measured commit.

    Attributes
    ----------
    hash : str
        All 40 digits.
    order : int
        Position in asv's order of all commits of the repository; larger is newer.
    date_ms : int
        Author date, ms since 1970.
    author, subject : str
        Text of strangers: escape it before showing it.
    """

    hash: str
    order: int
    date_ms: int
    author: str
    subject: str


@dataclass(frozen=True)
class Point:
    """One benchmark at one commit.

    Attributes
    ----------
    commit : Commit
    status : str
        ``ok``, ``failed`` or ``skipped``; only ``ok`` has a value.
    value_bytes : int or None
        The figure, the median of the measurements.
    samples_bytes : tuple of int or None
        One value a process; None where asv was not told ``--record-samples``.
    quartiles_bytes : (float, float) or None
        First and third quartile of the measurements, which asv always keeps.
    n_measurements : int
        Processes behind the figure; 0 when there is none.
    method : str
        ``hwm``, ``sampled`` (a lower bound), ``ru_maxrss`` (asv's peakmem) or ``tracked``.
    quiet_allocator : bool or None
        None where the benchmark type does not tell.
    measured_ms : int or None
        When it was measured, ms since 1970.
    """

    commit: Commit
    status: str
    value_bytes: int | None
    samples_bytes: tuple[int, ...] | None = None
    quartiles_bytes: tuple[float, float] | None = None
    n_measurements: int = 1
    method: str = "hwm"
    quiet_allocator: bool | None = True
    measured_ms: int | None = None


@dataclass(frozen=True)
class Series:
    """One benchmark with one set of parameters on one machine, over commits.

    Attributes
    ----------
    benchmark : str
        asv's name, e.g. ``step.Dqn.steppeak_step``.
    params : tuple of (str, str)
        Name and ``repr`` of each parameter, as asv stores them.
    machine, environment, branch : str
    type : str
        asv's type: ``steppeak``, ``peakmemory``, ``memory`` or the suite's own.
    declared : bool
        False when the suite no longer has this benchmark or combination.
    n_cpu : int or None
        CPUs of the machine, where asv knows.
    points : tuple of Point
        Oldest first, one a commit.
    """

    benchmark: str
    params: tuple[tuple[str, str], ...]
    machine: str
    environment: str
    branch: str
    type: str
    declared: bool
    n_cpu: int | None
    points: tuple[Point, ...]

    @property
    def measured(self) -> tuple[Point, ...]:
        """The points that have a value."""
        return tuple(p for p in self.points if p.value_bytes is not None)

    @property
    def label(self) -> str:
        """The benchmark with its parameters, for people."""
        shown = ", ".join(f"{name}={readable(value)}" for name, value in self.params)
        return f"{self.benchmark}({shown})" if shown else self.benchmark


def readable(value: str) -> str:
    """A parameter's stored ``repr`` without the quotes of a string."""
    if value[:1] in ("'", '"'):
        try:
            return str(ast.literal_eval(value))
        except (SyntaxError, ValueError):
            pass
    return value
