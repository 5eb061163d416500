"""The training process: ``main([SPEC.json])``, started by :mod:`foxbench.profile.runner`.

Measures itself phase by phase and writes every finished phase and step to the log at once, so
that the parent can tell what was measured when this process raises, is killed or runs out of
memory.  It keeps nothing itself: what it collected would show in what it measures.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK, FoxbenchError, NotMeasured, UsageError
from foxbench.profile import oom, workload
from foxbench.profile.log import LogWriter
from foxbench.profile.spec import Spec
from foxbench.sampler import allocator, assemble, lowlevel, timeline_file
from foxbench.sampler.measure import measure
from foxbench.sampler.provenance import capabilities, clear_refs_allowed
from foxbench.sampler.result import MEASUREMENT_VERSION, Interval, Measurement

#: Characters of a traceback that are kept: its end tells, a deep recursion has thousands of lines.
_TRACEBACK_CHARS = 20_000

#: Warm steps whose peak counts: what is freed and kept by the heap hides in the RSS before the
#: others, whose peaks come out too small (TFT: 7 MiB instead of 12).
MAX_SETTLED = 10

_PR_SET_PDEATHSIG = 1  # prctl(2)


def main(argv: list[str]) -> int:
    """Run the spec and return the exit code.

    0 for a finished training, the error's own code for a :class:`FoxbenchError`, and 3 (not
    measured) when the training raised.
    """
    _die_with_parent()
    spec = Spec.load(argv[0])
    log = LogWriter(spec.log)
    meter = measure(hz=spec.hz, name="profile")
    code = EXIT_OK
    try:
        with meter:
            Training(spec, log, meter).run()
    except (Exception, SystemExit) as error:
        code = error.exit_code if isinstance(error, FoxbenchError) else EXIT_NOT_MEASURED
        log.write(
            "error",
            type=type(error).__name__,
            message=str(error),
            oom=oom.is_refusal(error),
            # A foxbench error says what is wrong in its message; the call path adds nothing.
            traceback=None if isinstance(error, FoxbenchError) else _short_traceback(error),
        )
    result = meter.result
    lost = _keep_timeline(result, spec)
    log.write(
        "end",
        ok=code == EXIT_OK,
        whole=_flat(result.whole, result.whole.begin_ns),
        lifetime_peak_bytes=result.lifetime_peak_bytes,
        n_samples=result.n_samples,
        n_missed=result.n_missed,
        sampler_cpu_ns=result.sampler_cpu_ns,
        self_bytes=result.self_bytes,
        warnings=[*result.warnings, *lost],
    )
    log.sync()
    return code


def _keep_timeline(result: Measurement, spec: Spec) -> list[str]:
    """Write the samples beside the log, once everything has been measured.

    Failing costs no run: the returned warning says what is missing.
    """
    path = Path(spec.log).with_name("timeline.parquet")
    try:
        timeline_file.write(timeline_file.from_measurement(result), path)
    except (FoxbenchError, ImportError, MemoryError) as error:
        return [f"the samples could not be kept in {path.name}: {error}"]
    return []


class Training:
    """The phases of one run, in order."""

    def __init__(self, spec: Spec, log: LogWriter, meter: measure) -> None:
        self.spec = spec
        self.log = log
        self.meter = meter
        self.origin_ns: int | None = None

    def run(self) -> None:
        """Import, load, features, build, first step, steps, evaluation."""
        spec, log = self.spec, self.log
        with self.phase("import"):
            cls = workload.import_trainer(spec)
        log.write("setup", provenance=_provenance(spec))
        with self.phase("load"):
            bars = workload.load_bars(spec)
        with self.phase("features"):
            data = workload.market(bars)
        del bars
        log.write("data", n_bars={series.root: series.n_bars for series in data.series})
        with self.phase("build"):
            trainer, config = workload.build(spec, cls, data)
        log.write("config", config=workload.config_values(config))
        self.train(trainer)
        if callable(getattr(trainer, "evaluate", None)):
            with self.phase("eval"):
                scores = trainer.evaluate()
            log.write("evaluation", scores={k: float(v) for k, v in scores.items()})

    def train(self, trainer: Any) -> None:
        """Make the steps: the first one alone, then the warm ones in one phase."""
        full = workload.steps_per_full_epoch(trainer)
        bound = self.spec.steps_per_epoch
        per_epoch = bound if full is None else min(bound, full)
        total = self.spec.epochs * per_epoch
        if total < 2:
            raise UsageError(
                "one step in all: the first step only warms up, so nothing would be measured",
                "ask for more with --epochs, or give more bars",
            )
        settled = settled_steps(total)
        self.log.write("plan", per_epoch=per_epoch, per_full_epoch=full, total=total)
        allocator.settle()
        with self.phase("first_step") as first:
            loss = _loss(trainer.step())
        self.log_step(1, loss, first[0], True)
        with self.phase("step"):
            for number in range(2, total + 1):
                if number in settled:
                    allocator.settle()
                self.log_step(number, *_measured_step(trainer), number in settled)
        if callable(getattr(trainer, "bytes", None)):
            self.log.write("bytes", components={k: int(v) for k, v in trainer.bytes().items()})

    def log_step(self, number: int, loss: float | None, interval: Interval, settled: bool) -> None:
        """Write one step's figures; ``settled`` says whether the memory before it was."""
        usage = interval.usage
        self.log.write(
            "step",
            n=number,
            loss=loss,
            settled=settled,
            step_peak_bytes=interval.step_peak_bytes,
            rss_bytes=interval.rss_end_bytes,
            wall_ns=interval.end_ns - interval.begin_ns,
            cpu_ns=usage.user_ns + usage.system_ns,
        )

    @contextmanager
    def phase(self, name: str) -> Iterator[list[Interval]]:
        """Measure a phase and log it once it is finished; the list then holds its interval."""
        self.log.write("begin", name=name)
        finished: list[Interval] = []
        with self.meter.phase(name) as handle:
            yield finished
        interval = handle.interval
        if interval is None:
            raise NotMeasured(f"{name} ended in a process that was forked inside it")
        if self.origin_ns is None:
            self.origin_ns = interval.begin_ns
        self.log.write("phase", **_flat(interval, self.origin_ns))
        self.log.sync()
        finished.append(interval)


def settled_steps(total: int) -> frozenset[int]:
    """The warm steps to settle before, spread over the run.

    Not all: settling takes about 30 ms of collecting garbage, six times a step of DQN.
    """
    n_warm = total - 1
    n_settled = min(n_warm, MAX_SETTLED)
    return frozenset(2 + i * n_warm // n_settled for i in range(n_settled))


def _measured_step(trainer: Any) -> tuple[float | None, Interval]:
    """One step and its interval; not a phase of the meter, which keeps each of its phases: a few
    thousand steps of a small model would show as a leak.
    """
    opened = lowlevel.interval_begin(clear_refs_allowed())
    loss = _loss(trainer.step())
    raw = lowlevel.interval_end(opened)
    return loss, assemble.interval(raw, "one step", 2, lowlevel.error_bound_here())


def _flat(interval: Interval, origin_ns: int) -> dict[str, Any]:
    """The fields of :class:`foxbench.profile.result.Phase`."""
    usage, peak = interval.usage, interval.peak
    return {
        "name": interval.name,
        "begin_ns": interval.begin_ns - origin_ns,
        "wall_ns": interval.end_ns - interval.begin_ns,
        "user_ns": usage.user_ns,
        "system_ns": usage.system_ns,
        "rss_begin_bytes": interval.rss_begin_bytes,
        "rss_end_bytes": interval.rss_end_bytes,
        "peak_bytes": peak.bytes,
        "peak_err_bytes": peak.err_bytes,
        "peak_kind": peak.kind,
        "step_peak_bytes": interval.step_peak_bytes,
        "minor_faults": usage.minor_faults,
        "major_faults": usage.major_faults,
        "voluntary_ctxt_switches": usage.voluntary_ctxt_switches,
        "involuntary_ctxt_switches": usage.involuntary_ctxt_switches,
    }


def _loss(value: Any) -> float | None:
    return None if value is None else float(value)


def _provenance(spec: Spec) -> dict[str, Any]:
    able = capabilities()
    return {
        "foxbench": _version("foxbench"),
        "measurement_version": MEASUREMENT_VERSION,
        "python": platform.python_version(),
        "torch": _version("torch") if "torch" in sys.modules else None,
        "numpy": _version("numpy"),
        "kernel": platform.release(),
        "page_bytes": able.page_bytes,
        "n_cpus": able.n_cpus,
        "quiet_allocator": allocator.is_quiet(),
        "threads": spec.threads,
        "hz": spec.hz,
        "hwm_reset": able.hwm_reset,
        "libc": able.libc,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _short_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-_TRACEBACK_CHARS:]


def _die_with_parent() -> None:
    """Ask the kernel to end this process with its parent: nobody would read its figures."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
