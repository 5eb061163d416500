"""From a profile and a budget to a row: does this model fit?  No measuring here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foxbench.budget.budgets import Budget, label
from foxbench.budget.result import Analytic, Fault, Row
from foxbench.profile.report import mib
from foxbench.profile.result import GROWTH_PHASES, Phase, Profile, growth

#: How a status of the profile is called here; a finished run is ok until its figure is judged.
_UNFINISHED = ("failed", "oom", "timeout", "not_measured")


@dataclass(frozen=True)
class Case:
    """One model to judge.

    Attributes
    ----------
    model : str
    config : dict
        Settings that differ from the defaults.
    device : str
        ``host`` or ``cuda``.
    budget : Budget or None
    device_limit_bytes : int or None
        What all processes on the device may need together, hence each one too.
    """

    model: str
    config: Mapping[str, Any]
    device: str
    budget: Budget | None
    device_limit_bytes: int | None

    @property
    def name(self) -> str:
        """``dqn``, or ``dqn batch=1024``."""
        return label(self.model, self.config)

    @property
    def covers(self) -> str:
        """What the budget is about; the whole where there is none."""
        return self.budget.covers if self.budget else "whole"


@dataclass(frozen=True)
class Figure:
    """A measured size and how far the true one may lie above it; None for a lower bound."""

    size_bytes: int
    err_bytes: int | None


def judge(case: Case, profile: Profile, run: str, analytic: Analytic | None = None) -> Row:
    """The row of a model that was trained, or was tried to.

    Parameters
    ----------
    case : Case
    profile : Profile
    run : str
        Folder of the run's files.
    analytic : Analytic, optional
        What the step needs by its arithmetic.

    Returns
    -------
    Row
        ``over_budget`` where the figure, which may only be too low, is above the limit; ``ok``
        with a warning where the limit lies within the figure's error bound.
    """
    finished = profile.status == "ok"
    whole = _whole(case.device, profile) if finished else None
    grown = _growth(profile.phases) if finished and case.device == "host" else None
    step = _step(profile) if finished and case.device == "host" else None
    figure = {"whole": whole, "growth": grown, "step": step}[case.covers]
    # That epochs were cut short is a field of its own, and the advice is profile's.
    warnings = [w for w in profile.warnings if not w.startswith("bounded:")]
    if finished:
        status = _judged(case, figure, whole, warnings)
    else:
        status = _unfinished(profile)
        warnings += _already_over(case, profile.seen_peak_bytes)
    budget, size = case.budget, figure.size_bytes if figure else None
    delta = _difference(size, budget.expected_bytes if budget else None)
    steps, losses = profile.steps, profile.losses
    return replace(
        without_run(case, status, _fault(case, profile, status)),
        measured_bytes=size,
        measured_err_bytes=figure.err_bytes if figure else None,
        peak_bytes=whole.size_bytes if whole else None,
        peak_err_bytes=whole.err_bytes if whole else None,
        peak_kind=_kind(case.device, profile) if whole else None,
        growth_bytes=grown.size_bytes if grown else None,
        step_peak_bytes=step.size_bytes if step else None,
        seen_peak_bytes=profile.seen_peak_bytes,
        delta_bytes=delta,
        changed=_changed(delta, budget, figure),
        headroom_bytes=_difference(budget.limit_bytes if budget else None, size),
        seconds=steps.wall_ns / 1e9 if steps and _steps_made(profile) else None,
        steps=_steps_made(profile),
        epochs=steps.epochs_asked if steps else None,
        bounded=steps.bounded if steps else None,
        final_loss=losses.last if finished and losses else None,
        bars=sum(profile.n_bars.values()) if profile.n_bars else None,
        warnings=tuple(warnings),
        analytic=analytic,
        run=run,
    )


def without_run(case: Case, status: str, fault: Fault | None) -> Row:
    """The row of a model that was not trained: its file vanished, or the device is not there."""
    row = Row(
        name=case.name,
        model=case.model,
        config=dict(case.config),
        status=status,
        error=fault,
        device=case.device,
        covers=case.covers,
    )
    budget = case.budget
    if budget is None:
        return row
    return replace(
        row,
        budget_bytes=budget.limit_bytes,
        expected_bytes=budget.expected_bytes,
        noise_bytes=budget.noise_bytes,
        owner=budget.owner,
        reason=budget.reason,
        expires=budget.expires.isoformat() if budget.expires else None,
    )


def overall(rows: Sequence[Row]) -> str:
    """``over_budget`` wins: it is proven whatever else failed; ``incomplete`` never passes."""
    statuses = {row.status for row in rows}
    if "over_budget" in statuses:
        return "over_budget"
    return "ok" if statuses == {"ok"} else "incomplete"


def _judged(case: Case, figure: Figure | None, whole: Figure | None, warnings: list[str]) -> str:
    """Status of a finished run; adds the warnings that belong to it."""
    if figure is None:
        return "not_measured"
    over = False
    for what, limit, held in (
        ("its budget", case.budget.limit_bytes if case.budget else None, figure),
        (f"the limit of the whole {case.device}", case.device_limit_bytes, whole),
    ):
        if limit is None or held is None:
            continue
        if held.size_bytes > limit:
            over = True
            warnings.append(f"{mib(held.size_bytes - limit)} MiB over {what}")
        elif held.err_bytes is None:
            warnings.append(f"the figure is a lower bound: it may be over {what}")
        elif held.size_bytes + held.err_bytes > limit:
            warnings.append(
                f"within the error bound of {what}: the true figure may lie up to "
                f"{mib(held.err_bytes)} MiB higher and {mib(limit - held.size_bytes)} are left"
            )
    return "over_budget" if over else "ok"


def _unfinished(profile: Profile) -> str:
    if profile.error is not None and profile.error.kind == "NotMeasured":
        return "not_measured"
    return profile.status if profile.status in _UNFINISHED else "failed"


def _already_over(case: Case, seen_bytes: int | None) -> list[str]:
    budget = case.budget
    if budget is None or seen_bytes is None or (case.device, case.covers) != ("host", "whole"):
        return []
    over = seen_bytes - budget.limit_bytes
    return [f"it was {mib(over)} MiB over its budget before it ended"] if over > 0 else []


def _fault(case: Case, profile: Profile, status: str) -> Fault | None:
    error = profile.error
    if error is not None:
        return Fault(error.kind, error.message, error.phase, error.step)
    if status == "not_measured":
        what = {"whole": "the peak", "growth": "the growth since build", "step": "a warm step"}
        return Fault("NotMeasured", f"{what[case.covers]} was not measured", None, None)
    return None


def _whole(device: str, profile: Profile) -> Figure | None:
    if device == "host":
        peak = profile.peak_bytes
        return None if peak is None else Figure(peak, profile.peak_err_bytes)
    on_device = profile.device_peak_bytes
    return None if on_device is None else Figure(on_device, 0)


def _kind(device: str, profile: Profile) -> str | None:
    return profile.peak_kind if device == "host" else "torch"


def _growth(phases: Sequence[Phase]) -> Figure | None:
    grown = growth(phases)
    if grown is None:
        return None
    return Figure(grown[1], _bound([p for p in phases if p.name in GROWTH_PHASES]))


def _step(profile: Profile) -> Figure | None:
    size = profile.step_peak_bytes
    if size is None:
        return None
    return Figure(size, _bound([p for p in profile.phases if p.name == "step"]))


def _bound(phases: Sequence[Phase]) -> int | None:
    """The largest error bound; None where one of the peaks is a lower bound."""
    bounds = [p.peak_err_bytes for p in phases]
    known = [b for b in bounds if b is not None]
    return max(known) if known and len(known) == len(bounds) else None


def _changed(delta: int | None, budget: Budget | None, figure: Figure | None) -> bool | None:
    """Whether the difference is outside the band: the budget's, else the figure's own bound."""
    if delta is None or budget is None or figure is None:
        return None
    band = budget.noise_bytes if budget.noise_bytes is not None else figure.err_bytes
    return abs(delta) > (band or 0)


def _difference(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


def _steps_made(profile: Profile) -> int | None:
    """Steps that finished, the first included."""
    if profile.steps is None:
        return None
    first = any(p.name == "first_step" for p in profile.phases)
    return profile.steps.n_warm + first
