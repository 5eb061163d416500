"""What a search for the largest size found: frozen, in bytes, stored as JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench import jsonfile
from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK, EXIT_OVER_BUDGET, DataError
from foxbench.profile.result import Provenance

SCHEMA_VERSION = 1

#: ``found``: it fits, and a little more does not.  ``all_fit``: the data allow nothing larger, and
#: that fits.  ``unproven``: it fits, and trainings ran out before one did not.  ``nothing``: not
#: even the smallest fits.  ``not_measured``: a training failed for another reason.
VERDICTS = {
    "found": EXIT_OK,
    "all_fit": EXIT_OK,
    "unproven": EXIT_OK,
    "nothing": EXIT_OVER_BUDGET,
    "not_measured": EXIT_NOT_MEASURED,
}


@dataclass(frozen=True)
class Trial:
    """One training under the limit.

    Attributes
    ----------
    value : int
        Of the setting.
    status : str
        A profile's; ``ok`` fits and ``oom`` does not.
    error : str or None
    predicted_bytes : int or None
        What it was thought to need before it ran.
    need_bytes : int or None
        What it needed: the peak from build on without the files' pages.
    step_peak_bytes : int or None
    analytic_step_peak_bytes : int or None
    seen_peak_bytes : int or None
        Lower bound of a training that did not finish.
    seconds : float or None
        Median wall time of a warm step.
    run : str
        Folder of its files.
    """

    value: int
    status: str
    error: str | None
    predicted_bytes: int | None
    need_bytes: int | None
    step_peak_bytes: int | None
    analytic_step_peak_bytes: int | None
    seen_peak_bytes: int | None
    seconds: float | None
    run: str


@dataclass(frozen=True)
class Fit:
    """One search.

    Attributes
    ----------
    schema_version : int
    model : str
    setting : str
        What was varied.
    verdict : str
        A key of ``VERDICTS``.
    value : int or None
        The largest that ran inside the limit.
    too_large : int or None
        The smallest that did not.
    config : dict or None
        Every setting of the training with ``value``.
    limit_bytes : int
    limit_kind : str or None
        ``cgroup`` or ``rlimit``: what enforced it.
    predicted_by : str
        ``account`` or ``measured``: what the first guess came from.
    quiet_allocator : bool
    files : tuple of str
    started_at : str
        UTC, ISO 8601.
    trials : tuple of Trial
        In the order they ran.
    provenance : Provenance or None
    folder : str
    """

    schema_version: int
    model: str
    setting: str
    verdict: str
    value: int | None
    too_large: int | None
    config: dict[str, Any] | None
    limit_bytes: int
    limit_kind: str | None
    predicted_by: str
    quiet_allocator: bool
    files: tuple[str, ...]
    started_at: str
    trials: tuple[Trial, ...]
    provenance: Provenance | None
    folder: str


def exit_code(fit: Fit) -> int:
    """0 where a size is named, 2 where none fits, 3 where it could not be measured."""
    return VERDICTS[fit.verdict]


def write(fit: Fit, path: Path) -> None:
    """Write the result, whole or not at all."""
    jsonfile.write_atomically(path, jsonfile.encode(fit))


def read(path: str | os.PathLike[str]) -> Fit:
    """Read what :func:`write` wrote; :class:`DataError` otherwise."""
    remedy = "make it again with `foxbench fit`"
    fit = jsonfile.read(path, Fit, SCHEMA_VERSION, "the result of a fit", remedy)
    if fit.verdict not in VERDICTS:
        raise DataError(f"{path}: unknown verdict {fit.verdict!r}", remedy)
    return fit
