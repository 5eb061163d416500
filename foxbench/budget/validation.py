"""Trains every model asked for under the sampler, one after the other, and judges each."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from foxbench.budget import budgets as budgets_module
from foxbench.budget import market_files
from foxbench.budget.analytic import analytic
from foxbench.budget.budgets import Budgets
from foxbench.budget.coresidence import coresidence
from foxbench.budget.market_files import MarketFiles
from foxbench.budget.result import SCHEMA_VERSION, Fault, Row, Validation
from foxbench.budget.verdict import Case, judge, overall, without_run
from foxbench.errors import FoxbenchError
from foxbench.models import registry
from foxbench.profile import plan, presets, runner
from foxbench.profile.result import Profile, interrupted
from foxbench.profile.runner import Listener
from foxbench.profile.spec import is_user_trainer

#: What trainers are built with on each device of the budgets.
TRAINING_DEVICES = {"host": "cpu", "cuda": "cuda"}

#: Says that a case begins (its number and how many there are) and listens to its log.
Announce = Callable[[Case, int, int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class Wishes:
    """What the user asked for; None stands for the default.

    Attributes
    ----------
    models : tuple of str
        Empty for every model that has a budget on the device.
    files : tuple of Path
        The user's bars; empty for synthetic ones.
    preset : str
    epochs, max_bars : int or None
        In place of the preset's.
    device : str
        ``host`` or ``cuda``.
    quiet_allocator : bool
    limit_bytes : int or None
        A real limit of each training's memory.
    timeout_s : float or None
        For each model.
    out : Path
        Gets one new folder for this validation, with one of each run in it.
    """

    models: tuple[str, ...]
    files: tuple[Path, ...]
    preset: str
    epochs: int | None
    max_bars: int | None
    device: str
    quiet_allocator: bool
    limit_bytes: int | None
    timeout_s: float | None
    out: Path


def cases(wishes: Wishes, budgets: Budgets, today: datetime.date) -> tuple[Case, ...]:
    """One case for each budget of each model; one without a budget where it has none.

    Raises
    ------
    UsageError, ConfigError
        An unknown model, or a budget that has expired.
    """
    listed = tuple(b.model for b in budgets.budgets if b.device == wishes.device)
    models = tuple(dict.fromkeys(wishes.models or listed or registry.names()))
    for model in models:
        if not is_user_trainer(model):
            registry.entry(model)
    budgets_module.refuse_expired(budgets, models, wishes.device, today)
    limit = budgets.device_limit_bytes.get(wishes.device)
    found: list[Case] = []
    for model in models:
        of_model = budgets.of(model, wishes.device)
        found += [Case(model, b.config, wishes.device, b, limit) for b in of_model]
        if not of_model:
            found.append(Case(model, {}, wishes.device, None, limit))
    return tuple(found)


def run(wishes: Wishes, budgets: Budgets, todo: Sequence[Case], announce: Announce) -> Validation:
    """Train, measure and judge.

    Raises
    ------
    UsageError, ConfigError, DataError
        What can be refused before anything is trained: files, settings.
    EnvironmentFault
        ``out`` cannot be written to.
    """
    started_at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    begin = time.monotonic()
    max_bars = wishes.max_bars or presets.preset(wishes.preset).max_bars
    files = market_files.given(wishes.files) if wishes.files else None
    folder = runner.make_directory(wishes.out.absolute(), "validate")
    if files is None:
        files = market_files.synthetic([c.model for c in todo], max_bars, folder / "bars")
    for case in todo:
        plan.check(_request(wishes, case, files))
    runs = _Runs(wishes, files, folder)
    for number, case in enumerate(todo, start=1):
        with announce(case, number, len(todo)) as listen:
            runs.add(case, listen)
    rows = tuple(runs.rows)
    return Validation(
        schema_version=SCHEMA_VERSION,
        verdict=overall(rows),
        interrupted=runs.interrupted,
        device=wishes.device,
        budgets=budgets.path,
        preset=wishes.preset,
        max_bars=max_bars,
        files=tuple(str(path) for path in files.all),
        synthetic=files.synthetic,
        quiet_allocator=wishes.quiet_allocator,
        started_at=started_at,
        seconds=time.monotonic() - begin,
        models=rows,
        coresidence=coresidence(rows, budgets.device_limit_bytes.get(wishes.device)),
        provenance=next((p.provenance for p in runs.profiles if p.provenance), None),
        folder=str(folder),
    )


class _Runs:
    """The rows so far, and whether there is any use in going on."""

    def __init__(self, wishes: Wishes, files: MarketFiles, folder: Path) -> None:
        self._wishes = wishes
        self._files = files
        self._folder = folder
        self._no_device: Fault | None = None
        self.rows: list[Row] = []
        self.profiles: list[Profile] = []
        self.interrupted: int | None = None

    def add(self, case: Case, listen: Listener) -> None:
        """Train one case; whatever becomes of it, there is a row."""
        if self.interrupted is not None:
            fault = Fault("Interrupted", "not trained: interrupted before", None, None)
            self.rows.append(without_run(case, "not_measured", fault))
            return
        if self._no_device is not None:  # the same for every model; seconds to find out
            self.rows.append(without_run(case, "not_measured", self._no_device))
            return
        try:
            directory = runner.make_directory(self._folder, case.name)
            spec = plan.spec(_request(self._wishes, case, self._files), directory)
            profile = runner.run(spec, directory, self._wishes.timeout_s, listen)
        except (FoxbenchError, OSError) as error:
            # A file that vanished, a disk that is full: this model's matter, not the others'.
            what = error.what if isinstance(error, FoxbenchError) else str(error)
            fault = Fault(type(error).__name__, what, None, None)
            self.rows.append(without_run(case, "failed", fault))
            return
        row = judge(case, profile, str(directory), analytic(profile))
        self.rows.append(row)
        self.profiles.append(profile)
        if row.status == "not_measured" and case.device != "host":
            self._no_device = row.error
        self.interrupted = profile.exit_code if interrupted(profile) else None


def _request(wishes: Wishes, case: Case, files: MarketFiles) -> plan.Request:
    return plan.Request(
        model=case.model,
        files=files.of(case.model),
        epochs=wishes.epochs,
        max_bars=wishes.max_bars,
        assignments=budgets_module.assignments(case.config),
        quiet_allocator=wishes.quiet_allocator,
        device=TRAINING_DEVICES[wishes.device],
        limit_bytes=wishes.limit_bytes,
        preset=wishes.preset,
    )
