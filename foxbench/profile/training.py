"""The phases of one training run, in order, each measured and logged as it ends.

Runs in the training process; keeps nothing itself, see :mod:`foxbench.profile.worker`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foxbench.errors import NotMeasured, UsageError
from foxbench.profile import limit, workload
from foxbench.profile.instrument import provenance
from foxbench.profile.log import LogWriter
from foxbench.profile.pace import Counted, Pace, Soaking
from foxbench.profile.parts import step_parts
from foxbench.profile.spec import ALL_STEPS, USER_STEPS_PER_EPOCH, Spec
from foxbench.sampler import allocator, assemble, lowlevel
from foxbench.sampler.measure import measure
from foxbench.sampler.provenance import clear_refs_allowed
from foxbench.sampler.result import Interval


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
        log.write("setup", provenance=provenance(spec))
        with self.phase("load"):
            bars = workload.load_bars(spec)
        if workload.reads_bars(cls):
            data: Any = tuple(bars)
            log.write("data", n_bars={one.root: len(one) for one in bars})
        else:
            with self.phase("features"):
                data = workload.market(bars)
            log.write("data", n_bars={series.root: series.n_bars for series in data.series})
        del bars
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
        pace = self.pace(workload.steps_per_full_epoch(trainer))
        if self.spec.limit_kind == "rlimit" and self.spec.limit_bytes is not None:
            limit.restrict_data(self.spec.limit_bytes)
        gauges = self.gauges()
        allocator.settle()
        with self.phase("first_step") as first:
            loss = _loss(trainer.step())
        self.log_step(1, loss, first[0], True)
        self.log_gauges(1, gauges)
        with self.phase("step"):
            for number, settled in pace.warm_steps():
                if settled:
                    allocator.settle()
                self.log_step(number, *_measured_step(trainer), settled)
                self.log_gauges(number, gauges)
            if not self.spec.gauges:
                self.take_apart(trainer)
        if callable(getattr(trainer, "bytes", None)):
            self.log.write("bytes", components={k: int(v) for k, v in trainer.bytes().items()})

    def take_apart(self, trainer: Any) -> None:
        """One step more, no part of any other figure: it carries the cuts' own cost."""
        allocator.settle()
        try:
            parts = step_parts(trainer.step)
        except Exception as error:  # nobody asked for it: a trainer may be at its data's end
            message = f"a step's parts were not measured: {type(error).__name__}: {error}"
            self.log.write("warning", message=message)
            return
        if parts is not None:
            self.log.write("parts", peaks=parts)

    def pace(self, full: int | None) -> Pace:
        """How many steps to make; ``full`` are an epoch of the trainer's own, None unknown."""
        spec = self.spec
        bound = spec.steps_per_epoch
        if bound == ALL_STEPS and full is None:
            bound = USER_STEPS_PER_EPOCH
        per_epoch = bound if full is None else min(bound, full)
        made: Pace = (
            Counted(spec.epochs * per_epoch) if spec.soak_s is None else Soaking(spec.soak_s)
        )
        if made.total is not None and made.total < 2:
            raise UsageError(
                "one step in all: the first step only warms up, so nothing would be measured",
                "ask for more with --epochs, or give more bars",
            )
        self.log.write(
            "plan",
            per_epoch=per_epoch,
            per_full_epoch=full,
            total=made.total,
            seconds=spec.soak_s,
        )
        return made

    def gauges(self) -> Any:
        """What reads the heap in use after each step; None unless it is asked for."""
        if not self.spec.gauges:
            return None
        from foxbench.profile.gauges import Gauges

        gauges = Gauges()
        gauges.prepare()
        return gauges

    def log_gauges(self, number: int, gauges: Any) -> None:
        """Write what the gauges read after a step."""
        if gauges is not None:
            self.log.write("gauge", n=number, **gauges.read())

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
        self.log.write("phase", **flat(interval, self.origin_ns))
        self.log.sync()
        finished.append(interval)


def _measured_step(trainer: Any) -> tuple[float | None, Interval]:
    """One step and its interval; not a phase of the meter, which keeps each of its phases: a few
    thousand steps of a small model would show as a leak.
    """
    opened = lowlevel.interval_begin(clear_refs_allowed())
    loss = _loss(trainer.step())
    raw = lowlevel.interval_end(opened)
    return loss, assemble.interval(raw, "one step", 2, lowlevel.error_bound_here())


def flat(interval: Interval, origin_ns: int) -> dict[str, Any]:
    """An interval as the fields of :class:`foxbench.profile.result.Phase`."""
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
        "device_peak_bytes": _device_peak_bytes(interval),
        "minor_faults": usage.minor_faults,
        "major_faults": usage.major_faults,
        "voluntary_ctxt_switches": usage.voluntary_ctxt_switches,
        "involuntary_ctxt_switches": usage.involuntary_ctxt_switches,
    }


def _device_peak_bytes(interval: Interval) -> int | None:
    """What torch took from the devices at the most; None where it uses none."""
    if not interval.torch:
        return None
    return sum(one.peak_reserved_bytes for one in interval.torch)


def _loss(value: Any) -> float | None:
    return None if value is None else float(value)
