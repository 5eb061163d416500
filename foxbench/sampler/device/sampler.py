"""Device memory over time: a thread at 100 Hz that asks NVML for each device.

A thread of Python, because the bindings are: while another holds the GIL it gets no reading, and
says how many ticks that cost.  NVML keeps no high-water mark, so what it finds is a lower bound;
for tensors torch's own mark is exact (``torch_memory``).
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from foxbench.errors import NotMeasured
from foxbench.sampler import assemble
from foxbench.sampler.device.nvml import NO_DEVICE, Nvml, Opened, anchor, weigh_anchor
from foxbench.sampler.device.result import DeviceInfo, DeviceMeasurement, DeviceMemory
from foxbench.sampler.device.visible import visible
from foxbench.sampler.handles import TimelineBuffer

MAX_HZ = 100.0
#: Lists of processes hold the driver's lock, which the training wants too.
PROCESSES_EVERY_NS = 1_000_000_000
#: Buckets of a device's timeline: 10 s of single readings, then coarser; 48 KiB.
CAPACITY = 1024
#: A driver that does not answer for so long is given up, and the thread with it.
STOP_WAIT_S = 5.0
#: Longest that a fork waits for a reading to end.
FORK_WAIT_S = 0.1

#: Held while NVML is asked, so that no fork copies a lock inside it that nobody will release.
_asking = threading.Lock()
_forking = threading.local()


def _before_fork() -> None:
    _forking.holds = _asking if _asking.acquire(timeout=FORK_WAIT_S) else None


def _after_fork() -> None:
    if _forking.holds is not None:
        _forking.holds.release()


def _ask_anew() -> None:
    """Leave the lock to a thread that will never release it."""
    global _asking
    _asking = threading.Lock()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_ask_anew)


@dataclass
class _Watched:
    """One device while it is being sampled."""

    handle: Any
    device: DeviceInfo
    used_begin: int | None = None
    used_peak: int | None = None
    used_end: int | None = None
    process_begin: int | None = None
    process_peak: int | None = None
    n_samples: int = 0
    n_errors: int = 0
    reason: str = ""
    given_up: bool = False
    timeline: TimelineBuffer = field(default_factory=lambda: TimelineBuffer(CAPACITY))

    def read(self, nvml: Nvml) -> None:
        now_ns = time.monotonic_ns()
        try:
            used = nvml.used_bytes(self.handle)
        except NotMeasured as error:
            self.n_errors += 1
            self.reason = error.what
            # Whoever does not tell the first time never will; later a reading may fail for once.
            self.given_up = nvml.lost(error) or not self.n_samples
            return
        if self.used_begin is None:
            self.used_begin = used
        self.used_peak = max(used, self.used_peak or 0)
        self.used_end = used
        self.n_samples += 1
        self.timeline.add(now_ns, used)

    def read_process(self, nvml: Nvml) -> None:
        used = nvml.process_bytes(self.handle, os.getpid())
        if used is not None:
            self.process_peak = max(used, self.process_peak or 0)

    def result(self) -> DeviceMemory:
        status = "ok"
        if not self.n_samples:
            status = "not_measured"
        elif self.given_up:
            status = "lost"
        process = self.process_peak is not None
        seen = self.n_samples > 0
        return DeviceMemory(
            device=self.device,
            status=status,
            reason=self.reason if status != "ok" else "",
            scope="process" if process else "device",
            begin_bytes=self.process_begin if process else self.used_begin,
            peak_bytes=self.process_peak if process else self.used_peak,
            used_begin_bytes=self.used_begin,
            used_peak_bytes=self.used_peak,
            used_end_bytes=self.used_end,
            n_samples=self.n_samples,
            n_errors=self.n_errors,
            timeline=assemble.timeline(self.timeline.buckets()) if seen else None,
        )


def _watch(opened: Opened) -> _Watched:
    watched = _Watched(opened.handle, opened.info)
    if opened.fault is not None:
        watched.reason, watched.given_up = opened.fault.what, True
    return watched


class DeviceSampler:
    """Samples every visible device from :meth:`start` to :meth:`stop`.

    Parameters
    ----------
    hz : float
        At most 100: each reading goes to the driver.
    """

    def __init__(self, hz: float = MAX_HZ) -> None:
        self._hz = min(hz, MAX_HZ)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._nvml: Nvml | None = None
        self._watched: list[_Watched] = []
        self._n_missed = 0
        self._why = NotMeasured("the sampler was not started")

    def start(self) -> None:
        """Take a first reading and start the thread; without a device, remember why."""
        try:
            anchor()
            self._nvml = Nvml()
            found = visible(self._nvml.devices())
            if not found:
                raise NotMeasured(*NO_DEVICE)
        except NotMeasured as error:
            self._why = error
            self._close()
            return
        self._watched = [_watch(opened) for opened in found]
        self._read(self._nvml, processes=True)
        for watched in self._watched:
            watched.process_begin = watched.process_peak
        self._thread = threading.Thread(
            target=self._run, args=(self._nvml,), name="foxbench-device", daemon=True
        )
        self._thread.start()

    def stop(self) -> DeviceMeasurement:
        """Take a last reading, end the thread and return what it saw; once more changes nothing."""
        self._over.set()
        if self._thread is not None and self._nvml is not None:
            self._thread.join(STOP_WAIT_S)
            if self._thread.is_alive():
                # To close NVML, or to ask it again, would wait for the same driver.
                self._nvml = None
                _ask_anew()
                for watched in self._watched:
                    watched.given_up = True
                    watched.reason = watched.reason or "the driver does not answer"
            else:
                self._read(self._nvml, processes=True)
            self._thread = None
        self._close()
        if not self._watched:
            return DeviceMeasurement(
                "not_measured", self._why.what, self._why.remedy, self._hz, 0, ()
            )
        devices = tuple(watched.result() for watched in self._watched)
        return DeviceMeasurement("ok", "", "", self._hz, self._n_missed, devices)

    def _close(self) -> None:
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None
            if any(watched.given_up for watched in self._watched):
                weigh_anchor()

    def _read(self, nvml: Nvml, processes: bool) -> None:
        for watched in self._watched:
            if watched.given_up:
                continue
            with _asking:
                watched.read(nvml)
                if processes and not watched.given_up:
                    watched.read_process(nvml)

    def _run(self, nvml: Nvml) -> None:
        period_ns = round(1e9 / self._hz)
        deadline = time.monotonic_ns() + period_ns
        listed = time.monotonic_ns()
        while not self._over.wait(max(0, deadline - time.monotonic_ns()) / 1e9):
            now = time.monotonic_ns()
            processes = now - listed >= PROCESSES_EVERY_NS
            if processes:
                listed = now
            self._read(nvml, processes)
            late = max(0, (time.monotonic_ns() - deadline) // period_ns)
            self._n_missed += late
            deadline += (late + 1) * period_ns
