"""Device memory over time: a thread at 100 Hz that asks NVML for each device.

A thread of Python, because the bindings are: while another holds the GIL it gets no reading, and
says how many ticks that cost.  NVML keeps no high-water mark, so what it finds is a lower bound;
for tensors torch's own mark is exact (``torch_memory``).
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from foxbench.errors import NotMeasured
from foxbench.sampler.device.nvml import Nvml, visible
from foxbench.sampler.device.result import DeviceInfo, DeviceMeasurement, DeviceMemory

MAX_HZ = 100.0
#: Lists of processes hold the driver's lock, which the training wants too.
PROCESSES_EVERY_NS = 1_000_000_000


@dataclass
class _Watched:
    """One device while it is being sampled."""

    handle: Any
    device: DeviceInfo
    used_begin: int | None = None
    used_peak: int | None = None
    used_end: int | None = None
    process_peak: int | None = None
    n_samples: int = 0
    lost: str = ""

    def read(self, nvml: Nvml) -> None:
        try:
            used = nvml.used_bytes(self.handle)
        except NotMeasured as error:
            self.lost = error.what
            return
        self.used_begin = used if self.used_begin is None else self.used_begin
        self.used_peak = max(used, self.used_peak or 0)
        self.used_end = used
        self.n_samples += 1

    def read_process(self, nvml: Nvml) -> None:
        used = nvml.process_bytes(self.handle, os.getpid())
        if used is not None:
            self.process_peak = max(used, self.process_peak or 0)

    def result(self) -> DeviceMemory:
        status = "ok"
        if self.lost:
            status = "lost" if self.n_samples else "not_measured"
        process = self.process_peak is not None
        return DeviceMemory(
            device=self.device,
            status=status,
            reason=self.lost,
            scope="process" if process else "device",
            peak_bytes=self.process_peak if process else self.used_peak,
            used_begin_bytes=self.used_begin,
            used_peak_bytes=self.used_peak,
            used_end_bytes=self.used_end,
            n_samples=self.n_samples,
        )


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
            self._nvml = Nvml()
            found = visible(self._nvml.devices())
            if not found:
                raise NotMeasured(
                    "NVML shows no device to this process",
                    "check CUDA_VISIBLE_DEVICES; docker: --gpus all",
                )
        except NotMeasured as error:
            self._why = error
            self._close()
            return
        self._watched = [_Watched(handle, info) for handle, info in found]
        self._read(processes=True)
        self._thread = threading.Thread(target=self._run, name="foxbench-device", daemon=True)
        self._thread.start()

    def stop(self) -> DeviceMeasurement:
        """Take a last reading, end the thread and return what it saw."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._read(processes=True)
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

    def _read(self, processes: bool) -> None:
        assert self._nvml is not None
        for watched in self._watched:
            if watched.lost:
                continue
            watched.read(self._nvml)
            if processes and not watched.lost:
                watched.read_process(self._nvml)

    def _run(self) -> None:
        period_ns = round(1e9 / self._hz)
        deadline = time.monotonic_ns() + period_ns
        listed = time.monotonic_ns()
        while not self._over.wait(max(0, deadline - time.monotonic_ns()) / 1e9):
            now = time.monotonic_ns()
            processes = now - listed >= PROCESSES_EVERY_NS
            if processes:
                listed = now
            self._read(processes)
            late = max(0, (time.monotonic_ns() - deadline) // period_ns)
            self._n_missed += late
            deadline += (late + 1) * period_ns
