"""What one validation found: frozen, in whole bytes, stored as JSON.

A value that was not measured is ``None`` (``null``), never 0.  Only a model that finished has
figures; one that failed keeps ``seen_peak_bytes``, a lower bound.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from foxbench import jsonfile
from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK, EXIT_OVER_BUDGET, DataError
from foxbench.profile.result import Provenance

#: Bumped whenever a key changes its name or meaning.
SCHEMA_VERSION = 1

#: Of a model; only ``ok`` passes.
STATUSES = ("ok", "over_budget", "failed", "oom", "timeout", "not_measured")

#: Of the whole, and the exit code of each.
VERDICTS = {"ok": EXIT_OK, "over_budget": EXIT_OVER_BUDGET, "incomplete": EXIT_NOT_MEASURED}


@dataclass(frozen=True)
class Fault:
    """Why a model has no figures.

    Attributes
    ----------
    kind : str
        The exception's type, or ``signal``, ``timeout``, ``exit``.
    message : str
    phase : str or None
        The phase that was running.
    step : int or None
        The step that was running, counted from 1.
    """

    kind: str
    message: str
    phase: str | None
    step: int | None


@dataclass(frozen=True)
class Analytic:
    """What a step needs by its arithmetic, beside what was measured.

    Attributes
    ----------
    step_peak_bytes : int
        Live tensors at the step's highest moment, above what stands between steps.
    resident_bytes : int
        What stands between steps: parameters, optimizer, buffers.
    peak_at : str
        The moment, e.g. ``Adam``.
    unexplained_bytes : int or None
        The measured step peak less ``step_peak_bytes``.
    """

    step_peak_bytes: int
    resident_bytes: int
    peak_at: str
    unexplained_bytes: int | None


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes
    ----------
    name : str
        The model, with the settings that differ from its defaults.
    model : str
        A registered workload or ``module:Class``.
    config : dict
        Those settings.
    status : str
        One of ``STATUSES``.
    error : Fault or None
    device : str
        Where the figures are: ``host`` or ``cuda``.
    covers : str
        What ``measured_bytes`` is: ``whole``, ``growth`` or ``step``, see
        :class:`foxbench.budget.budgets.Budget`.
    measured_bytes : int or None
        The figure the budget is about; the whole peak where there is no budget.
    measured_err_bytes : int or None
        How far the true figure may lie above; None for a lower bound.
    peak_bytes, peak_err_bytes : int or None
        The whole process's peak on the host, or torch's on the device.
    peak_kind : str or None
        ``hwm`` or ``sampled`` on the host, ``torch`` on a device.
    growth_bytes, step_peak_bytes : int or None
        On the host.
    seen_peak_bytes : int or None
        Largest resident size seen, of a failed run too: a lower bound.
    budget_bytes, expected_bytes, noise_bytes : int or None
    delta_bytes : int or None
        ``measured_bytes`` less ``expected_bytes``.
    changed : bool or None
        Whether that is outside the noise band.
    headroom_bytes : int or None
        ``budget_bytes`` less ``measured_bytes``; negative when over.
    seconds : float or None
        Wall time of the training steps, of a failed run as well.
    steps, epochs : int or None
        Steps that finished, epochs asked for.
    bounded : bool or None
        Whether the epochs were cut short.
    final_loss : float or None
        Of the last step of a model that finished.
    bars : int or None
        Rows trained on, all instruments together, the features' warm-up left out.
    owner, reason, expires : str or None
        Of the budget; ``expires`` as ISO 8601.
    warnings : tuple of str
    analytic : Analytic or None
        None where no account of the model exists.
    run : str or None
        Folder of the run's files.
    """

    name: str
    model: str
    config: dict[str, Any]
    status: str
    error: Fault | None
    device: str
    covers: str
    measured_bytes: int | None = None
    measured_err_bytes: int | None = None
    peak_bytes: int | None = None
    peak_err_bytes: int | None = None
    peak_kind: str | None = None
    growth_bytes: int | None = None
    step_peak_bytes: int | None = None
    seen_peak_bytes: int | None = None
    budget_bytes: int | None = None
    expected_bytes: int | None = None
    noise_bytes: int | None = None
    delta_bytes: int | None = None
    changed: bool | None = None
    headroom_bytes: int | None = None
    seconds: float | None = None
    steps: int | None = None
    epochs: int | None = None
    bounded: bool | None = None
    final_loss: float | None = None
    bars: int | None = None
    owner: str | None = None
    reason: str | None = None
    expires: str | None = None
    warnings: tuple[str, ...] = ()
    analytic: Analytic | None = None
    run: str | None = None


@dataclass(frozen=True)
class Coresidence:
    """Which models fit on the device beside each other.

    Attributes
    ----------
    limit_bytes : int or None
        Of the whole device; None without one, and then there are no sets.
    sum_bytes : int or None
        Of the peaks with their error bounds.  Pages that processes share count once for each:
        an upper bound of what they need together.
    upper_bound : bool
        False where a peak in the sum is itself only a lower bound.
    fits : bool or None
        Whether all fit together; None where that is not known.
    sets : tuple of tuple of str
        Maximal sets that fit: none has room for one model more.
    more_sets : bool
        Whether there are further sets that are not listed.
    alone_too_large : tuple of str
        Models that do not fit by themselves.
    left_out : tuple of str
        Models without a figure; they take no part.
    """

    limit_bytes: int | None
    sum_bytes: int | None
    upper_bound: bool
    fits: bool | None
    sets: tuple[tuple[str, ...], ...]
    more_sets: bool
    alone_too_large: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Validation:
    """One run of ``foxbench validate``.

    Attributes
    ----------
    schema_version : int
    verdict : str
        A key of ``VERDICTS``: ``over_budget`` where any model is, because that is proven;
        ``incomplete`` where any has no figure; else ``ok``.
    interrupted : int or None
        128 + the signal that ended it before its end.
    device : str
    budgets : str
        The file the budgets came from.
    preset : str
    max_bars : int or None
        First bars of each file that were used; None for all.
    files : tuple of str
    synthetic : bool
        Whether the bars were made for this run.
    quiet_allocator : bool
    started_at : str
        UTC, ISO 8601.
    seconds : float
        Wall time of it all.
    models : tuple of Row
    coresidence : Coresidence
    provenance : Provenance or None
        What the first model that got so far was measured with.
    folder : str
        Holds every run's files.
    """

    schema_version: int
    verdict: str
    interrupted: int | None
    device: str
    budgets: str
    preset: str
    max_bars: int | None
    files: tuple[str, ...]
    synthetic: bool
    quiet_allocator: bool
    started_at: str
    seconds: float
    models: tuple[Row, ...]
    coresidence: Coresidence
    provenance: Provenance | None
    folder: str


def exit_code(validation: Validation) -> int:
    """0 for ok, 2 for over budget, 3 for incomplete; 128 + N when signal N ended it."""
    return validation.interrupted or VERDICTS[validation.verdict]


def encode(validation: Validation) -> bytes:
    """Indented JSON, a line feed at its end."""
    return jsonfile.encode(validation)


def read(path: str | os.PathLike[str]) -> Validation:
    """Read what ``foxbench validate --json`` wrote.

    Raises
    ------
    DataError
        The file is missing, is no validation, has an unknown key or another schema version.
    """
    remedy = "make it again with `foxbench validate --json FILE`"
    validation = jsonfile.read(path, Validation, SCHEMA_VERSION, "a validation", remedy)
    for value, known in (
        (validation.verdict, tuple(VERDICTS)),
        *((row.status, STATUSES) for row in validation.models),
    ):
        if value not in known:
            raise DataError(f"{path}: {value!r} is none of {', '.join(known)}", remedy)
    return validation
