"""The leak test of a training: some hundred steps with the gauges on, then the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench.leak import readings, result, verdict
from foxbench.leak.result import LeakResult
from foxbench.profile import plan, runner
from foxbench.profile.log import LogReader
from foxbench.profile.result import Profile

#: Steps where none are asked for.
DEFAULT_STEPS = 400

#: Where a step takes a second or two: a quiet leak of 1 KB a step is found from 100 steps on, see
#: docs/leak.md.  Smaller settings instead would be another workload.
FEWER_STEPS = {"ppo": 100, "mamba2": 200}

#: The slowest rate: no figure comes of the samples here.
_HZ = 100.0


@dataclass(frozen=True)
class Request:
    """The command line's wishes; None stands for the default."""

    model: str
    files: tuple[Path, ...]
    steps: int | None = None
    max_bars: int | None = None
    assignments: tuple[str, ...] = ()
    for_s: float | None = None
    device: str = "cpu"


def profile_request(request: Request) -> plan.Request:
    """The same as the profile of a run that reads its gauges after each step."""
    return plan.Request(
        model=request.model,
        files=request.files,
        # One step an epoch: the total is then the number asked for, however long the model's own.
        epochs=request.steps or FEWER_STEPS.get(request.model, DEFAULT_STEPS),
        steps_per_epoch=1,
        max_bars=request.max_bars,
        assignments=request.assignments,
        hz=_HZ,
        # As it trains elsewhere: what malloc keeps is part of what is looked at.
        quiet_allocator=False,
        device=request.device,
        soak_s=request.for_s,
        gauges=True,
    )


def run(
    request: Request,
    directory: Path,
    budget_bytes: int | None = None,
    timeout_s: float | None = None,
    listen: Callable[[dict[str, Any]], None] | None = None,
) -> LeakResult:
    """Train in a process of its own and judge what was read, also of a run that failed.

    Parameters
    ----------
    request : Request
        Checked with :func:`foxbench.profile.plan.check`.
    directory : Path
        Gets the files of a profile, and ``leak.json``.
    budget_bytes : int, optional
    timeout_s : float, optional
        Wall-clock seconds after which the training is ended; status ``timeout``.
    listen : callable, optional
        Called with every record of the log as it appears.
    """
    spec = plan.spec(profile_request(request), directory)
    profile = runner.run(spec, directory, timeout_s, listen)
    found = judge(profile, directory, budget_bytes)
    result.write(found, directory / "leak.json")
    return found


def judge(profile: Profile, directory: Path, budget_bytes: int | None = None) -> LeakResult:
    """The result of a run that has ended, from its profile and the log beside it."""
    read = readings.from_log(LogReader(directory / "log.jsonl").poll())
    error = None
    if profile.error is not None:
        where = f", step {profile.error.step}" if profile.error.step else ""
        error = f"{profile.error.kind}{where}: {profile.error.message}"
    return LeakResult(
        schema_version=result.SCHEMA_VERSION,
        kind="training",
        model=profile.model,
        files=(profile.file, *profile.more_files),
        config=profile.config,
        command=(),
        started_at=profile.started_at,
        status=profile.status,
        error=error,
        run_exit_code=profile.exit_code,
        verdict=verdict.of_training(read, budget_bytes),
        provenance=profile.provenance,
    )
