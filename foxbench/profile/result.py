"""What one profile run measured: frozen, in bytes and nanoseconds, stored as JSON.

A value that was not measured is ``None`` (``null``), never 0.  Only a profile whose status is
``ok`` has headline figures: one that failed keeps its finished phases and steps, and
``seen_peak_bytes``, which is a lower bound of the peak it would have had.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench import jsonfile
from foxbench.errors import DataError
from foxbench.jsonfile import write_atomically

#: Bumped whenever a key changes its name or meaning.
SCHEMA_VERSION = 2

STATUSES = ("ok", "failed", "oom", "timeout", "not_measured")

#: What a training needs for itself begins here.
GROWTH_PHASES = ("build", "first_step", "step", "eval")


@dataclass(frozen=True)
class Phase:
    """One finished phase; see :class:`foxbench.sampler.result.Interval` for the terms.

    Attributes
    ----------
    name : str
        ``import``, ``load``, ``features``, ``build``, ``first_step``, ``step`` or ``eval``.
    begin_ns : int
        Since the measurement began.
    wall_ns, user_ns, system_ns : int
    rss_begin_bytes, rss_end_bytes : int
    peak_bytes : int
        Absolute.
    peak_err_bytes : int or None
        How far the true peak may lie above; None when ``peak_kind`` is ``sampled``.
    peak_kind : str
        ``hwm`` or ``sampled``.
    step_peak_bytes : int
        The peak above ``rss_begin_bytes``.
    device_peak_bytes : int or None
        What torch took from the CUDA devices at the most; None where none is used.
    minor_faults, major_faults : int
    voluntary_ctxt_switches, involuntary_ctxt_switches : int
    """

    name: str
    begin_ns: int
    wall_ns: int
    user_ns: int
    system_ns: int
    rss_begin_bytes: int
    rss_end_bytes: int
    peak_bytes: int
    peak_err_bytes: int | None
    peak_kind: str
    step_peak_bytes: int
    minor_faults: int
    major_faults: int
    voluntary_ctxt_switches: int
    involuntary_ctxt_switches: int
    device_peak_bytes: int | None = None


def growth(phases: Sequence[Phase]) -> tuple[int, int] | None:
    """The RSS when ``build`` began, and the highest peak from then on above it.

    None where it was not built.
    """
    begin = next((p.rss_begin_bytes for p in phases if p.name == "build"), None)
    if begin is None:
        return None
    return begin, max(p.peak_bytes for p in phases if p.name in GROWTH_PHASES) - begin


@dataclass(frozen=True)
class Steps:
    """The training steps, the first one (warm-up) left out of every statistic.

    Attributes
    ----------
    n_warm : int
        Warm steps that finished.
    n_total_asked : int or None
        Steps the run was to make, the first included; None where time was to end it.
    epochs_asked : int
    per_epoch : int
        Steps made per epoch.
    per_full_epoch : int or None
        Steps that pass over the data once; None where the trainer does not say.
    bounded : bool
        Whether ``per_epoch`` is below ``per_full_epoch``: the epochs were cut short.
    n_settled : int
        Warm steps before which the memory was settled (measurement rule 3), spread over the run.
    median_peak_bytes : int or None
        Of the settled steps' peaks, each above the RSS at its own step's begin.
    max_peak_bytes : int or None
        The largest of all warm steps; one that was not settled reads low, never high.
    max_peak_step : int or None
        Which step had it, counted from 1 (the first step of the run).
    median_wall_ns, median_cpu_ns : int or None
    wall_ns : int
        All steps that finished, without what is done between them.
    part_peak_bytes : dict of str to int, or None
        Peaks of one further step's parts, above the RSS at its begin; see
        :mod:`foxbench.profile.parts`.
    """

    n_warm: int
    n_total_asked: int | None
    epochs_asked: int
    per_epoch: int
    per_full_epoch: int | None
    bounded: bool
    n_settled: int
    median_peak_bytes: int | None
    max_peak_bytes: int | None
    max_peak_step: int | None
    median_wall_ns: int | None
    median_cpu_ns: int | None
    wall_ns: int
    part_peak_bytes: dict[str, int] | None


@dataclass(frozen=True)
class Part:
    """Bytes with a name."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Analytic:
    """Where the bytes should be by arithmetic; see :class:`foxbench.models.account.Account`.

    Attributes
    ----------
    params_bytes, grads_bytes, optimizer_bytes, buffers_bytes, data_bytes : int
        As ``component_bytes`` of a profile counts what really stands; gradients stand within a
        step only.
    resident_bytes : int
        What stands between steps, data apart.
    activations : tuple of Part
        What one forward pass keeps, by layer.
    step_peak_bytes : int
        The most a warm step adds; what ``step_peak_bytes`` of a profile measures.
    peak_at : str
        That moment.
    peak_parts : tuple of Part
        What it is made of, largest first.
    """

    params_bytes: int
    grads_bytes: int
    optimizer_bytes: int
    buffers_bytes: int
    data_bytes: int
    resident_bytes: int
    activations: tuple[Part, ...]
    step_peak_bytes: int
    peak_at: str
    peak_parts: tuple[Part, ...]


@dataclass(frozen=True)
class Losses:
    """Training losses; one that is not finite is stored as None."""

    first: float | None
    last: float | None
    epoch_means: tuple[float | None, ...]


@dataclass(frozen=True)
class Failure:
    """Why a run has no headline figures.

    Attributes
    ----------
    kind : str
        The exception's type, or ``signal``, ``interrupt`` (of the command that measured),
        ``timeout``, ``exit``.
    message : str
    phase : str or None
        The phase that was running.
    step : int or None
        The step that was running, counted from 1.
    traceback : str or None
    """

    kind: str
    message: str
    phase: str | None
    step: int | None
    traceback: str | None


@dataclass(frozen=True)
class Limit:
    """The real limit the run was under.

    Attributes
    ----------
    bytes : int
    kind : str or None
        ``cgroup`` or ``rlimit``, see :mod:`foxbench.profile.limit`.
    """

    bytes: int
    kind: str | None


@dataclass(frozen=True)
class Provenance:
    """The instrument and the machine: results with different ones may not compare."""

    foxbench: str
    measurement_version: int
    python: str
    torch: str | None
    numpy: str | None
    kernel: str
    page_bytes: int
    n_cpus: int
    quiet_allocator: bool
    threads: int
    hz: float
    hwm_reset: bool
    libc: str


@dataclass(frozen=True)
class Profile:
    """Everything measured of one training run.

    Attributes
    ----------
    schema_version : int
    status : str
        One of ``STATUSES``; only ``ok`` can pass a budget.
    model : str
        A registered name or ``module:Class``.
    config : dict or None
        Every setting in force; None for a trainer without a config.
    file : str
        Absolute path of the bars.
    more_files : tuple of str
        Further instruments.
    n_bars : dict of str to int, or None
        Rows trained on by instrument, the features' warm-up left out.
    started_at : str
        UTC, ISO 8601.
    device : str
        ``cpu`` or ``cuda``: what the trainer was built with.
    limit : Limit or None
    peak_bytes : int or None
        Absolute peak of the whole run; ``peak_err_bytes`` and ``peak_kind`` belong to it.
    growth_peak_bytes : int or None
        The highest peak from ``build`` on above the RSS when it began: without the imports, the
        bars and the features.
    step_peak_bytes : int or None
        Median over the settled warm steps.
    device_peak_bytes : int or None
        What torch took from the CUDA devices at the most; None where it uses none.
    first_step_peak_bytes : int or None
        The first step allocates gradients and optimizer state.
    file_bytes : int or None
        Resident pages of files at the end, nearly all of them libraries': they are in
        ``peak_bytes``, and for want of memory the kernel may drop them.
    seen_peak_bytes : int or None
        Largest resident size seen, of a failed run too: a lower bound.
    component_bytes : dict of str to int, or None
        The trainer's own account (parameters, gradients, optimizer, buffers, data) after training.
    evaluation : dict of str to float, or None
    analytic : Analytic or None
        None where no account of the model exists.
    exit_code : int
        Of the training process; 128 + N when signal N ended it.
    """

    schema_version: int
    status: str
    model: str
    config: dict[str, Any] | None
    file: str
    more_files: tuple[str, ...]
    n_bars: dict[str, int] | None
    started_at: str
    device: str
    limit: Limit | None
    peak_bytes: int | None
    peak_err_bytes: int | None
    peak_kind: str | None
    growth_peak_bytes: int | None
    step_peak_bytes: int | None
    device_peak_bytes: int | None
    first_step_peak_bytes: int | None
    file_bytes: int | None
    seen_peak_bytes: int | None
    phases: tuple[Phase, ...]
    steps: Steps | None
    losses: Losses | None
    component_bytes: dict[str, int] | None
    evaluation: dict[str, float | None] | None
    analytic: Analytic | None
    exit_code: int
    error: Failure | None
    warnings: tuple[str, ...]
    provenance: Provenance | None

    @property
    def unexplained_bytes(self) -> int | None:
        """The measured step peak less the one by arithmetic; None where either is missing."""
        if self.step_peak_bytes is None or self.analytic is None or self.device != "cpu":
            return None
        return self.step_peak_bytes - self.analytic.step_peak_bytes


def interrupted(profile: Profile) -> bool:
    """Whether Ctrl-C or SIGTERM to the measuring command ended it, and not something of its own."""
    return profile.error is not None and profile.error.kind == "interrupt"


def encode(profile: Profile) -> bytes:
    """Indented JSON, a line feed at its end."""
    return jsonfile.encode(profile)


def write(profile: Profile, path: Path) -> None:
    """Write the profile, whole or not at all.

    Raises
    ------
    EnvironmentFault
        The folder cannot be written to.
    """
    write_atomically(path, encode(profile))


def read(path: str | os.PathLike[str]) -> Profile:
    """Read a profile that :func:`write` wrote.

    Raises
    ------
    DataError
        The file is missing, is no profile, has an unknown key or another schema version.
    """
    remedy = "name the profile.json of a `foxbench profile` run, or make it again"
    profile = jsonfile.read(path, Profile, SCHEMA_VERSION, "a profile", remedy)
    if profile.status not in STATUSES:
        raise DataError(f"{path}: unknown status {profile.status!r}", remedy)
    return profile
