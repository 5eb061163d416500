"""From the log of a training process and the way it ended to a :class:`Profile`."""

from __future__ import annotations

import math
import signal
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK
from foxbench.profile.result import (
    SCHEMA_VERSION,
    Failure,
    Limit,
    Losses,
    Phase,
    Profile,
    Provenance,
    Steps,
    growth,
)
from foxbench.profile.spec import Spec

Record = dict[str, Any]

#: The code of timeout(1) for a command that ran too long.
EXIT_TIMEOUT = 124


@dataclass(frozen=True)
class End:
    """How the process ended, seen from its parent.

    Attributes
    ----------
    returncode : int
        As :attr:`subprocess.Popen.returncode`: negative for a signal.
    cause : str or None
        ``timeout``, ``SIGINT`` or ``SIGTERM`` when the parent ended it.
    oom_killed : bool
        Whether the kernel counted an out-of-memory kill meanwhile.
    seen_peak_bytes : int or None
        Largest VmHWM that the parent read.
    output_tail : str
        The end of what the process printed.
    """

    returncode: int
    cause: str | None
    oom_killed: bool
    seen_peak_bytes: int | None
    output_tail: str


def profile(spec: Spec, records: Sequence[Record], end: End, started_at: str) -> Profile:
    """Put the records together; only a run that finished gets headline figures."""
    status, failure = _outcome(records, end)
    phases = tuple(_phase(r) for r in records if r["kind"] == "phase")
    last = _last(records, "end")
    whole = last["whole"] if last else None
    steps = _steps(spec, records)
    setup = _last(records, "setup")
    n_bars, config = _last(records, "data"), _last(records, "config")
    components, evaluation = _last(records, "bytes"), _last(records, "evaluation")
    first_step = next((p for p in phases if p.name == "first_step"), None)
    headline = whole if status == "ok" else None
    grown = growth(phases) if headline else None
    on_device = [p.device_peak_bytes for p in phases if p.device_peak_bytes is not None]
    seen = [p.peak_bytes for p in phases]
    seen += [end.seen_peak_bytes] if end.seen_peak_bytes is not None else []
    seen += [whole["peak_bytes"]] if whole else []
    return Profile(
        schema_version=SCHEMA_VERSION,
        status=status,
        model=spec.model,
        config=config["config"] if config else None,
        file=spec.files[0],
        more_files=spec.files[1:],
        n_bars=n_bars["n_bars"] if n_bars else None,
        started_at=started_at,
        device=spec.device,
        limit=None if spec.limit_bytes is None else Limit(spec.limit_bytes, spec.limit_kind),
        peak_bytes=headline["peak_bytes"] if headline else None,
        peak_err_bytes=headline["peak_err_bytes"] if headline else None,
        peak_kind=headline["peak_kind"] if headline else None,
        growth_peak_bytes=grown[1] if grown else None,
        step_peak_bytes=steps.median_peak_bytes if headline and steps else None,
        device_peak_bytes=max(on_device) if headline and on_device else None,
        first_step_peak_bytes=first_step.step_peak_bytes if headline and first_step else None,
        file_bytes=last["file_bytes"] if headline and last else None,
        seen_peak_bytes=max(seen) if seen else None,
        phases=phases,
        steps=steps,
        losses=_losses(spec, records),
        component_bytes=components["components"] if components else None,
        evaluation=_finite_values(evaluation["scores"]) if evaluation else None,
        analytic=None,
        exit_code=_exit_code(status, end),
        error=failure,
        warnings=_warnings(spec, records, last, steps),
        provenance=Provenance(**setup["provenance"]) if setup else None,
    )


def _outcome(records: Sequence[Record], end: End) -> tuple[str, Failure | None]:
    """Status and, unless it is ``ok``, why."""
    last, error = _last(records, "end"), _last(records, "error")
    if end.cause is None and end.returncode == 0 and last is not None and last["ok"]:
        return "ok", None
    begun = [r["name"] for r in records if r["kind"] == "begin"]
    done = [r["name"] for r in records if r["kind"] == "phase"]
    phase = begun[-1] if len(begun) > len(done) else None
    n_steps = sum(r["kind"] == "step" for r in records)
    step = n_steps + 1 if phase in ("first_step", "step") else None

    def failure(kind: str, message: str, traceback: str | None = None) -> Failure:
        return Failure(kind, message, phase, step, traceback)

    tail = end.output_tail or None
    if end.cause == "timeout":
        return "timeout", failure("timeout", "ended after the time that --timeout allows")
    if end.cause is not None:
        return "failed", failure(
            "interrupt", f"this command got {end.cause} and ended the training"
        )
    if error is not None:
        status = "oom" if error["oom"] else "failed"
        status = "not_measured" if error.get("not_measured") else status
        return status, failure(error["type"], error["message"], error["traceback"])
    if end.returncode < 0:
        name = _signal_name(-end.returncode)
        if end.returncode == -signal.SIGKILL and end.oom_killed:
            return "oom", failure("signal", "killed by the kernel: out of memory (SIGKILL)", tail)
        return "failed", failure("signal", f"killed by {name}", tail)
    return "failed", failure(
        "exit", f"the training process left with {end.returncode} before its end", tail
    )


def _exit_code(status: str, end: End) -> int:
    """The child's, 128 + N for a signal; never 0 for a run that is not ``ok``."""
    if end.cause == "timeout":
        return EXIT_TIMEOUT
    if end.cause is not None:
        return 128 + int(signal.Signals[end.cause])
    if end.returncode < 0:
        return 128 - end.returncode
    if status != "ok" and end.returncode == EXIT_OK:
        return EXIT_NOT_MEASURED
    return end.returncode


def _steps(spec: Spec, records: Sequence[Record]) -> Steps | None:
    plan = _last(records, "plan")
    if plan is None:
        return None
    warm = [r for r in records if r["kind"] == "step" and r["n"] > 1]
    settled = [r["step_peak_bytes"] for r in warm if r["settled"]]
    largest = max(warm, key=lambda r: r["step_peak_bytes"], default=None)
    full = plan["per_full_epoch"]
    parts = _last(records, "parts")
    return Steps(
        n_warm=len(warm),
        n_total_asked=plan["total"],
        epochs_asked=spec.epochs,
        per_epoch=plan["per_epoch"],
        per_full_epoch=full,
        bounded=plan["total"] is not None and full is not None and plan["per_epoch"] < full,
        n_settled=len(settled),
        median_peak_bytes=_median(settled),
        max_peak_bytes=largest["step_peak_bytes"] if largest else None,
        max_peak_step=largest["n"] if largest else None,
        median_wall_ns=_median([r["wall_ns"] for r in warm]),
        median_cpu_ns=_median([r["cpu_ns"] for r in warm]),
        wall_ns=sum(r["wall_ns"] for r in records if r["kind"] == "step"),
        part_peak_bytes=parts["peaks"] if parts else None,
    )


def _losses(spec: Spec, records: Sequence[Record]) -> Losses | None:
    plan = _last(records, "plan")
    steps = [r for r in records if r["kind"] == "step"]
    if plan is None or not steps or all(r["loss"] is None for r in steps):
        return None
    values = [r["loss"] for r in steps]
    per_epoch = plan["per_epoch"]
    epochs = [values[i : i + per_epoch] for i in range(0, len(values), per_epoch)]
    return Losses(
        first=_finite(values[0]),
        last=_finite(values[-1]),
        epoch_means=tuple(_mean(epoch) for epoch in epochs),
    )


def _warnings(
    spec: Spec, records: Sequence[Record], last: Record | None, steps: Steps | None
) -> tuple[str, ...]:
    found = list(last["warnings"]) if last else []
    found += [r["message"] for r in records if r["kind"] == "warning"]
    if steps is not None and steps.bounded:
        found.append(
            f"bounded: {steps.per_epoch} of the {steps.per_full_epoch} steps of each epoch were "
            f"made; --steps-per-epoch {steps.per_full_epoch} makes them all"
        )
    if not spec.quiet_allocator:
        found.append(
            "the quiet allocator is off: freed memory stays in the heap, and peaks of the same "
            "code differ by up to 15 %"
        )
    bad = next(
        (r["n"] for r in records if r["kind"] == "step" and _finite(r["loss"]) != r["loss"]), None
    )
    if bad is not None:
        found.append(f"the loss is not finite from step {bad} on: lower the learning rate")
    return tuple(found)


def _phase(record: Record) -> Phase:
    return Phase(**{k: v for k, v in record.items() if k != "kind"})


def _last(records: Sequence[Record], kind: str) -> Record | None:
    return next((r for r in reversed(records) if r["kind"] == kind), None)


def _median(values: Sequence[int]) -> int | None:
    """The low median, a value that was really measured."""
    return statistics.median_low(values) if values else None


def _mean(values: Sequence[float | None]) -> float | None:
    if any(_finite(v) is None for v in values):
        return None
    return _finite(statistics.fmean(v for v in values if v is not None))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _finite_values(scores: dict[str, float]) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in scores.items()}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
