"""What a sweep measured: frozen, in bytes and nanoseconds, stored as JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foxbench import jsonfile
from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK, DataError
from foxbench.profile.result import STATUSES, Provenance

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Row:
    """One point; what was not measured is None.

    Attributes
    ----------
    model : str
    settings : dict of str to str
        As they were given, in the order of the sweep's.
    status : str
        A profile's; only ``ok`` has figures.
    error : str or None
    step_peak_bytes, first_step_peak_bytes, growth_peak_bytes, peak_bytes, peak_err_bytes
        As a profile has them.
    analytic_step_peak_bytes : int or None
        By the model's account.
    params_bytes : int or None
        What the trainer says of its parameters.
    seen_peak_bytes : int or None
        The largest resident size that was seen, a lower bound, of a failed point too.
    cpu_ns, wall_ns : int or None
        Median of the warm steps.
    run : str or None
        Folder of the training's files; None where none began.
    """

    model: str
    settings: dict[str, str]
    status: str
    error: str | None
    step_peak_bytes: int | None
    first_step_peak_bytes: int | None
    growth_peak_bytes: int | None
    peak_bytes: int | None
    peak_err_bytes: int | None
    analytic_step_peak_bytes: int | None
    params_bytes: int | None
    seen_peak_bytes: int | None
    cpu_ns: int | None
    wall_ns: int | None
    run: str | None

    @property
    def label(self) -> str:
        """``dqn batch=64``."""
        return " ".join((self.model, *(f"{k}={v}" for k, v in self.settings.items())))


@dataclass(frozen=True)
class Sweep:
    """One sweep, also one that was interrupted.

    Attributes
    ----------
    schema_version : int
    models : tuple of str
    settings : tuple of str
        Names of what was varied, in the order given.
    n_points : int
        Points of the grid; ``rows`` has fewer until the sweep ends.
    interrupted : int or None
        128 + the signal that ended it before its end.
    files : tuple of str
    steps : int
        Of each training.
    max_bars : int or None
    device : str
    quiet_allocator : bool
    limit_bytes : int or None
        The real limit each training ran under.
    started_at : str
        UTC, ISO 8601.
    rows : tuple of Row
        In the order they ran.
    provenance : Provenance or None
    folder : str
    """

    schema_version: int
    models: tuple[str, ...]
    settings: tuple[str, ...]
    n_points: int
    interrupted: int | None
    files: tuple[str, ...]
    steps: int
    max_bars: int | None
    device: str
    quiet_allocator: bool
    limit_bytes: int | None
    started_at: str
    rows: tuple[Row, ...]
    provenance: Provenance | None
    folder: str


def exit_code(sweep: Sweep) -> int:
    """0 where every point has figures, 3 where one has none, 128 + N when signal N ended it."""
    if sweep.interrupted is not None:
        return sweep.interrupted
    whole = len(sweep.rows) == sweep.n_points and all(row.status == "ok" for row in sweep.rows)
    return EXIT_OK if whole else EXIT_NOT_MEASURED


def write(sweep: Sweep, path: Path) -> None:
    """Write the result, whole or not at all."""
    jsonfile.write_atomically(path, jsonfile.encode(sweep))


def read(path: str | os.PathLike[str]) -> Sweep:
    """Read what :func:`write` wrote; :class:`DataError` otherwise."""
    remedy = "make it again with `foxbench sweep`"
    sweep = jsonfile.read(path, Sweep, SCHEMA_VERSION, "a sweep", remedy)
    for row in sweep.rows:
        if row.status not in STATUSES:
            raise DataError(f"{path}: unknown status {row.status!r}", remedy)
    return sweep
