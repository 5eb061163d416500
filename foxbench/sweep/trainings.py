"""Trains every point of a grid, one after the other, and keeps what there is after each."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from foxbench.errors import ConfigError, FoxbenchError
from foxbench.models import registry
from foxbench.profile import plan, runner
from foxbench.profile.result import Profile, interrupted
from foxbench.profile.runner import Listener
from foxbench.profile.spec import is_user_trainer
from foxbench.sweep.grid import Point
from foxbench.sweep.result import SCHEMA_VERSION, Row, Sweep

#: Steps of a training where none are asked for: the first, and warm ones to take a median of.
DEFAULT_STEPS = 12

#: So many times what a profile's epoch has at the most, where a step takes seconds.
_EPOCHS = 3

#: Says that a point begins: its number, and how many there are.
Announce = Callable[[Point, int, int], AbstractContextManager[Listener]]

#: Takes the sweep as it stands after each point.
Keep = Callable[[Sweep], None]


@dataclass(frozen=True)
class Wishes:
    """What the user asked for, the grid apart; None stands for the default."""

    files: tuple[Path, ...]
    steps: int | None = None
    max_bars: int | None = None
    device: str = "cpu"
    quiet_allocator: bool = True
    limit_bytes: int | None = None
    timeout_s: float | None = None


def check(wishes: Wishes, points: Sequence[Point]) -> None:
    """Refuse unknown models and settings, values of a wrong type and unreadable files at once.

    Settings that do not fit each other are a point's own failure: it is what a sweep finds out.

    Raises
    ------
    UsageError, ConfigError, DataError
    """
    for point in points:
        plan.spec(_request(wishes, point), Path())


def run(
    wishes: Wishes, points: Sequence[Point], folder: Path, announce: Announce, keep: Keep
) -> Sweep:
    """Train every point.

    Parameters
    ----------
    wishes : Wishes
    points : sequence of Point
        Checked by :func:`check`.
    folder : Path
        Gets one folder for each training.
    announce, keep : callable
    """
    names = dict.fromkeys(key for point in points for key, _ in point.settings)
    sweep = Sweep(
        schema_version=SCHEMA_VERSION,
        models=tuple(dict.fromkeys(point.model for point in points)),
        settings=tuple(names),
        n_points=len(points),
        interrupted=None,
        files=tuple(str(path) for path in wishes.files),
        steps=wishes.steps or max(_steps(point.model) for point in points),
        max_bars=wishes.max_bars,
        device=wishes.device,
        quiet_allocator=wishes.quiet_allocator,
        limit_bytes=wishes.limit_bytes,
        started_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        rows=(),
        provenance=None,
        folder=str(folder),
    )
    for number, point in enumerate(points, start=1):
        with announce(point, number, len(points)) as listen:
            row, profile = _trained(wishes, point, folder, listen)
        stopped = profile is not None and interrupted(profile)
        sweep = dataclasses.replace(
            sweep,
            rows=(*sweep.rows, row),
            provenance=sweep.provenance or (profile.provenance if profile else None),
            interrupted=profile.exit_code if profile and stopped else None,
        )
        keep(sweep)
        if stopped:
            break
    return sweep


def _trained(
    wishes: Wishes, point: Point, folder: Path, listen: Listener
) -> tuple[Row, Profile | None]:
    """The row of one point; whatever becomes of it, there is one."""
    request = _request(wishes, point)
    try:
        plan.check(request)
        directory = runner.make_directory(folder, point.label[:80])
        profile = runner.run(plan.spec(request, directory), directory, wishes.timeout_s, listen)
    except ConfigError as error:
        return _without_run(point, "; ".join(error.mismatches)), None
    except (FoxbenchError, OSError) as error:
        # A file that vanished, a disk that is full: this point's matter, not the others'.
        what = error.what if isinstance(error, FoxbenchError) else str(error)
        return _without_run(point, what), None
    return _row(point, profile, str(directory)), profile


def _request(wishes: Wishes, point: Point) -> plan.Request:
    return plan.Request(
        model=point.model,
        files=wishes.files,
        # One step an epoch: the total is then this, however long the model's own is.
        epochs=wishes.steps or _steps(point.model),
        steps_per_epoch=1,
        max_bars=wishes.max_bars,
        assignments=point.assignments,
        device=wishes.device,
        quiet_allocator=wishes.quiet_allocator,
        limit_bytes=wishes.limit_bytes,
    )


def _steps(model: str) -> int:
    if is_user_trainer(model):
        return DEFAULT_STEPS
    return min(DEFAULT_STEPS, _EPOCHS * registry.entry(model).profile_steps)


def _without_run(point: Point, error: str) -> Row:
    return Row(
        model=point.model,
        settings=dict(point.settings),
        status="failed",
        error=error,
        step_peak_bytes=None,
        first_step_peak_bytes=None,
        growth_peak_bytes=None,
        peak_bytes=None,
        peak_err_bytes=None,
        analytic_step_peak_bytes=None,
        params_bytes=None,
        seen_peak_bytes=None,
        cpu_ns=None,
        wall_ns=None,
        run=None,
    )


def _row(point: Point, profile: Profile, directory: str) -> Row:
    error, steps = profile.error, profile.steps
    finished = profile.status == "ok"
    where = f" (step {error.step})" if error is not None and error.step else ""
    return Row(
        model=point.model,
        settings=dict(point.settings),
        status=profile.status,
        error=None if error is None else f"{error.kind}{where}: {error.message}",
        step_peak_bytes=profile.step_peak_bytes,
        first_step_peak_bytes=profile.first_step_peak_bytes,
        growth_peak_bytes=profile.growth_peak_bytes,
        peak_bytes=profile.peak_bytes,
        peak_err_bytes=profile.peak_err_bytes,
        analytic_step_peak_bytes=profile.analytic.step_peak_bytes if profile.analytic else None,
        params_bytes=(profile.component_bytes or {}).get("params"),
        seen_peak_bytes=profile.seen_peak_bytes,
        cpu_ns=steps.median_cpu_ns if finished and steps else None,
        wall_ns=steps.median_wall_ns if finished and steps else None,
        run=directory,
    )
