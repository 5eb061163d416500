"""``foxbench.measure``: what a block of code, or a function, needs in memory.

::

    with foxbench.measure(hz=1000) as m:
        with m.phase("step"):
            trainer.step()
    m.result.whole.peak.bytes
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from foxbench.errors import NotMeasured, SamplerError, UsageError
from foxbench.sampler import assemble, lowlevel
from foxbench.sampler.allocator import is_quiet
from foxbench.sampler.device import torch_memory
from foxbench.sampler.device.sampler import DeviceSampler
from foxbench.sampler.handles import SamplerThread
from foxbench.sampler.notices import notices
from foxbench.sampler.provenance import clear_refs_allowed
from foxbench.sampler.result import Interval, Measurement, Peak

P = ParamSpec("P")
R = TypeVar("R")

#: Buckets of the timeline: 4 s of single samples at 1 kHz, then coarser; 192 KiB.
CAPACITY = 4096
MIN_HZ, MAX_HZ = 100.0, 10_000.0


class Phase:
    """A named part of a measured block; made by :meth:`measure.phase`.

    Attributes
    ----------
    name : str
    interval : Interval or None
        None until the phase has ended, and in a forked child.
    """

    def __init__(self, meter: measure, name: str) -> None:
        self.name = name
        self.interval: Interval | None = None
        self._meter = meter
        self._id: int | None = None
        self._depth = 0
        self._torch: torch_memory.Level | None = None

    def __enter__(self) -> Phase:
        self._meter._require_open(f"phase {self.name!r}")
        if self._id is not None:
            raise UsageError(f"phase {self.name!r} is already open", "make a new one: m.phase(…)")
        depths = self._meter._depths
        self._depth = getattr(depths, "value", 0) + 1
        self._torch = torch_memory.begin()
        try:
            self._id = lowlevel.interval_begin(clear_refs_allowed())
        except BaseException:
            torch_memory.end(self._torch)
            raise
        depths.value = self._depth
        self._meter._open_phases.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        interval_id, self._id = self._id, None
        self._meter._depths.value = self._depth - 1
        if interval_id is None or self._meter._in_forked_child():
            return
        try:
            raw = lowlevel.interval_end(interval_id)
        finally:
            torch = torch_memory.end(self._torch)
        interval = assemble.interval(raw, self.name, self._depth, lowlevel.error_bound_here())
        self.interval = dataclasses.replace(interval, torch=torch)
        self._meter._phase_ended(self)


class measure:
    """Measure the memory of a block, or of each call of a function.

    Parameters
    ----------
    hz : float
        Samples a second, 100 to 10,000; 1 kHz costs about 2 % of one core.  The peak comes from
        the kernel's mark and does not depend on it, the timeline does.
    name : str
        Name of the block; a decorated function's own name unless given.
    device : bool, optional
        Whether NVML is asked for the memory of CUDA devices, 100 times a second at most; by
        default only where torch uses CUDA when the block begins.  See
        :attr:`Measurement.device`.

    Raises
    ------
    UsageError
        A rate out of range, a block entered twice at once, a coroutine or generator function.
    EnvironmentFault
        Off Linux, where the sampler was not built, or where /proc cannot be read.

    Notes
    -----
    Blocks may be nested and may overlap in several threads; as memory belongs to the process,
    each sees what all threads do meanwhile.  A block that a fork splits is measured in the
    parent; in the child :attr:`result` raises NotMeasured.  The kernel's mark is reset at each
    begin, so an outer tool that reads it later (GNU time) sees less than the true peak:
    :attr:`Measurement.lifetime_peak_bytes` keeps that, and ``FOXBENCH_NO_CLEAR_REFS=1`` leaves
    the mark alone.
    """

    def __init__(
        self, hz: float = 1000.0, name: str = "measure", device: bool | None = None
    ) -> None:
        if not MIN_HZ <= hz <= MAX_HZ:
            raise UsageError(f"a sampling rate of {hz} Hz", f"use {MIN_HZ:.0f} to {MAX_HZ:.0f} Hz")
        self.hz = float(hz)
        self.name = name
        self.device = device
        self._device: DeviceSampler | None = None
        self._torch: torch_memory.Level | None = None
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._sampler: SamplerThread | None = None
        self._id: int | None = None
        self._result: Measurement | None = None
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._result = None
        self._torch = self._device = None  # after a fork, those of the parent
        self._intervals: list[Interval] = []
        self._open_phases: list[Phase] = []
        self._depths = threading.local()

    # ---- the block -------------------------------------------------------------------------

    def __enter__(self) -> measure:
        if self._id is not None and not self._in_forked_child():
            raise UsageError(
                f"the block {self.name!r} is being measured already",
                "use one foxbench.measure() a block",
            )
        self._start_afresh()
        sampler = SamplerThread(self.hz, CAPACITY)
        try:
            # The thread first: whatever it costs in memory is there before the baseline is read.
            sampler.start()
            if torch_memory.nvidia_in_use() if self.device is None else self.device:
                self._device = DeviceSampler(self.hz)
                self._device.start()
            self._torch = torch_memory.begin()
            self._id = lowlevel.interval_begin(clear_refs_allowed())
        except BaseException:
            torch_memory.end(self._torch)
            if self._device is not None:
                self._device.stop()
                self._device = None
            sampler.close()
            raise
        self._sampler = sampler
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        interval_id, self._id = self._id, None
        sampler, self._sampler = self._sampler, None
        device, self._device = self._device, None
        if interval_id is None or sampler is None:
            return
        try:
            if not self._in_forked_child():
                self._result = self._finish(interval_id, sampler, device)
        finally:
            if device is not None and not self._in_forked_child():
                device.stop()  # did so already, unless finishing failed
            sampler.close()

    def _finish(
        self, interval_id: int, sampler: SamplerThread, device: DeviceSampler | None
    ) -> Measurement:
        try:
            raw = lowlevel.interval_end(interval_id)
        finally:
            torch = torch_memory.end(self._torch)
        devices = device.stop() if device is not None else None
        sampler.stop()
        stats = sampler.stats()
        whole = assemble.interval(raw, self.name, 0, lowlevel.error_bound_here())
        whole = dataclasses.replace(whole, torch=torch)
        with self._lock:
            intervals = tuple(self._intervals)
            still_open = tuple(phase.name for phase in self._open_phases)
        try:
            lifetime = lowlevel.lifetime_peak_bytes()
        except SamplerError:  # no VmHWM here: what was sampled is all there is
            lifetime = whole.peak.bytes
        return Measurement(
            hz=self.hz,
            whole=whole,
            intervals=intervals,
            timeline=assemble.timeline(sampler.buckets()),
            lifetime_peak_bytes=max(lifetime, whole.peak.bytes),
            n_samples=stats.n_samples,
            n_missed=stats.n_missed,
            sampler_cpu_ns=stats.cpu_ns,
            self_bytes=stats.self_bytes,
            quiet_allocator=is_quiet(),
            warnings=notices(whole, raw.hwm_errno, stats, still_open, devices),
            device=devices,
        )

    def phase(self, name: str) -> Phase:
        """A context manager that measures a named part of the block; phases nest."""
        return Phase(self, name)

    def _phase_ended(self, phase: Phase) -> None:
        with self._lock:
            self._open_phases.remove(phase)
            if phase.interval is not None:
                self._intervals.append(phase.interval)

    # ---- reading ---------------------------------------------------------------------------

    @property
    def result(self) -> Measurement:
        """The finished measurement, also after an exception in the block.

        Raises
        ------
        NotMeasured
            Before the block has ended, and in a child that was forked inside it.
        """
        if self._result is not None:
            return self._result
        if self._in_forked_child():
            raise NotMeasured(
                f"the block {self.name!r} was begun in process {self._pid} and forked",
                "read the result there, or begin a foxbench.measure() in the child",
            )
        raise NotMeasured(
            f"the block {self.name!r} has not ended", "read m.result after the with block"
        )

    def rss_bytes(self) -> int:
        """Resident set now; about a microsecond, inside the block or out."""
        return lowlevel.rss_bytes()

    def peak_so_far(self) -> Peak:
        """The peak of the open block up to now."""
        interval_id = self._require_open("the peak so far")
        return assemble.peak(lowlevel.interval_read(interval_id), lowlevel.error_bound_here())

    def _require_open(self, what: str) -> int:
        if self._id is None or self._in_forked_child():
            raise UsageError(
                f"{what} belongs to the block {self.name!r}, which is not being measured here",
                "use it inside the with block, in the process that began it",
            )
        return self._id

    def _in_forked_child(self) -> bool:
        return self._pid != os.getpid()

    # ---- the decorator ---------------------------------------------------------------------

    def __call__(self, fn: Callable[P, R]) -> Callable[P, R]:
        """Measure every call of ``fn``, each with a meter of its own.

        The last finished call's Measurement is at ``fn.foxbench_result`` (None before).
        """
        for refuse in (
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        ):
            if refuse(fn):
                raise UsageError(
                    f"{fn.__qualname__} runs after its call has returned: nothing to measure",
                    "use `with foxbench.measure()` inside it",
                )
        hz = self.hz
        name = getattr(fn, "__qualname__", self.name) if self.name == "measure" else self.name

        @functools.wraps(fn)
        def measured(*args: P.args, **kwargs: P.kwargs) -> R:
            meter = measure(hz, name, self.device)
            try:
                with meter:
                    return fn(*args, **kwargs)
            finally:
                if meter._result is not None:
                    target.foxbench_result = meter._result

        target: Any = measured
        target.foxbench_result = None
        return measured
