"""NVML through NVIDIA's own bindings; every way in which it fails becomes one error with advice.

Traps that are met here: a driver too old for a call (its symbol is missing), values that are "not
available", devices split by MIG, process ids of another namespace, a device that is lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from foxbench.errors import NotMeasured
from foxbench.sampler.device.result import DeviceInfo

#: Why NVML says no, and what mends it, by the name of its error.
_REASONS = {
    "NVML_ERROR_LIBRARY_NOT_FOUND": (
        "libnvidia-ml.so.1 is not installed: no NVIDIA driver here",
        "install the driver; docker: --gpus all with the NVIDIA container toolkit",
    ),
    "NVML_ERROR_DRIVER_NOT_LOADED": (
        "the NVIDIA driver is not loaded",
        "modprobe nvidia, and check with nvidia-smi",
    ),
    "NVML_ERROR_NO_PERMISSION": (
        "no permission to talk to the NVIDIA driver",
        "join the group that owns /dev/nvidia*, usually video or render",
    ),
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": (
        "the NVIDIA library and the loaded driver are of different versions",
        "reboot, or reload the driver after its update",
    ),
    "NVML_ERROR_GPU_IS_LOST": (
        "the device fell off the bus",
        "reset it: nvidia-smi --gpu-reset, or reboot",
    ),
    "NVML_ERROR_RESET_REQUIRED": (
        "the device must be reset before it can be used",
        "reset it: nvidia-smi --gpu-reset, or reboot",
    ),
    "NVML_ERROR_FUNCTION_NOT_FOUND": (
        "the driver is too old for this call",
        "update the NVIDIA driver",
    ),
    "NVML_ERROR_NOT_SUPPORTED": ("this device does not tell", ""),
}

NO_DEVICE = (
    "NVML shows no device to this process",
    "check CUDA_VISIBLE_DEVICES; docker: --gpus all",
)

#: After these a device answers no more until it is reset and NVML opened anew.
_LOST = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED")

#: The inode of the machine's first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h).
_FIRST_PID_NAMESPACE = "pid:[4026531836]"


@dataclass(frozen=True)
class Opened:
    """A device that NVML shows.

    Attributes
    ----------
    handle : object
        NVML's; None where the device is there but lost.
    info : DeviceInfo
    fault : NotMeasured or None
        Why it has no handle.
    """

    handle: Any
    info: DeviceInfo
    fault: NotMeasured | None = None


class Nvml:
    """An open NVML; close it, or use it as a context manager.

    Raises
    ------
    NotMeasured
        From every method, when NVML cannot answer.
    """

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise NotMeasured(
                f"the NVIDIA bindings cannot be imported: {error}",
                "python -m pip install nvidia-ml-py",
            ) from error
        self._pynvml = pynvml
        self._call("nvmlInit")
        self._is_open = True

    def _call(self, name: str, *arguments: Any) -> Any:
        pynvml = self._pynvml
        try:
            return getattr(pynvml, name)(*arguments)
        except pynvml.NVMLError as error:
            code = next((k for k in _REASONS if getattr(pynvml, k) == error.value), "")
            reason, remedy = _REASONS.get(code, (f"NVML: {error}", ""))
            raise NotMeasured(reason, remedy) from error
        # Not an NVMLError: the bindings are newer than the library.
        except (pynvml.NVMLLibraryMismatchError, AttributeError) as error:
            reason, remedy = _REASONS["NVML_ERROR_FUNCTION_NOT_FOUND"]
            raise NotMeasured(f"{reason}: {name}", remedy) from error

    def close(self) -> None:
        """Give the library back; a second call does nothing."""
        if self._is_open:  # NVML counts its users: one shutdown too many is somebody else's
            self._is_open = False
            with contextlib.suppress(NotMeasured):
                self._call("nvmlShutdown")

    def lost(self, error: NotMeasured) -> bool:
        """Whether after this error the device will answer no more."""
        return self._is(error, *_LOST)

    def _is(self, error: NotMeasured, *names: str) -> bool:
        value = getattr(error.__cause__, "value", None)
        return value is not None and value in [getattr(self._pynvml, name) for name in names]

    def _lacks(self, error: NotMeasured) -> bool:
        """Whether the driver is too old to have what was called."""
        mismatch = isinstance(error.__cause__, self._pynvml.NVMLLibraryMismatchError)
        return mismatch or self._is(
            error, "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"
        )

    def __enter__(self) -> Nvml:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def driver(self) -> str | None:
        """The driver's version."""
        try:
            return str(self._call("nvmlSystemGetDriverVersion"))
        except NotMeasured:
            return None

    def devices(self) -> list[Opened]:
        """All devices that this process may use; of one split by MIG, its instances instead."""
        found: list[Opened] = []
        refused: NotMeasured | None = None
        for index in range(self._call("nvmlDeviceGetCount")):
            try:
                handle = self._call("nvmlDeviceGetHandleByIndex", index)
                for one in self._mig_instances(handle) or [handle]:
                    found.append(Opened(one, self._info(one, index)))
            except NotMeasured as error:
                if self.lost(error):
                    unknown = DeviceInfo(index, None, f"device {index}", None)
                    found.append(Opened(None, unknown, error))
                else:  # NVML counts those too that a container or a job's cgroup keeps from us
                    refused = error
        if refused is not None and not found:
            raise refused
        return found

    def _mig_instances(self, handle: Any) -> list[Any]:
        try:
            current, _ = self._call("nvmlDeviceGetMigMode", handle)
            if not current:
                return []
            most = self._call("nvmlDeviceGetMaxMigDeviceCount", handle)
        except NotMeasured:  # an old driver, or a device without MIG
            return []
        instances = []
        for number in range(most):
            try:
                instances.append(self._call("nvmlDeviceGetMigDeviceHandleByIndex", handle, number))
            except NotMeasured:  # a place that is not taken
                continue
        return instances

    def _info(self, handle: Any, index: int) -> DeviceInfo:
        try:
            total: int | None = self._memory(handle).total
        except NotMeasured:
            total = None
        try:
            name = str(self._call("nvmlDeviceGetName", handle))
        except NotMeasured:
            name = "a device without a name"
        return DeviceInfo(index, str(self._call("nvmlDeviceGetUUID", handle)), name, total)

    def _memory(self, handle: Any) -> Any:
        """Version 2 leaves out what the driver reserves; drivers before 510 have version 1."""
        try:
            return self._call("nvmlDeviceGetMemoryInfo", handle, self._pynvml.nvmlMemory_v2)
        except NotMeasured as error:
            if not self._lacks(error):
                raise
            return self._call("nvmlDeviceGetMemoryInfo", handle)

    def used_bytes(self, handle: Any) -> int:
        """Memory in use on a device, whoever uses it; about 20 microseconds."""
        return int(self._memory(handle).used)

    def process_bytes(self, handle: Any, pid: int) -> int | None:
        """Memory of one process on a device; holds the driver's lock, so once a second at most.

        None where the driver does not tell (WSL, MIG, some containers), or does not list the pid:
        in a container older drivers list those of the host.
        """
        processes = self._processes(handle)
        own = [p.usedGpuMemory for p in processes if p.pid == pid]
        # The bindings turn "not available" into None; 0 bytes for a listed process is the same.
        if not own or any(not used for used in own) or _foreign(p.pid for p in processes):
            return None
        return sum(int(used) for used in own)

    def _processes(self, handle: Any) -> list[Any]:
        # The second is what drivers from 450 to 510 have.
        for name in ("", "_v2"):
            try:
                return list(self._call(f"nvmlDeviceGetComputeRunningProcesses{name}", handle))
            except NotMeasured as error:
                if not self._lacks(error):
                    return []
        return []


def _foreign(pids: Iterable[int]) -> bool:
    """Whether these are pids of another namespace, among which ours may be somebody else's."""
    with contextlib.suppress(OSError):
        if os.readlink("/proc/self/ns/pid") == _FIRST_PID_NAMESPACE:
            return False
    for pid in pids:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:  # there, and not ours
            continue
    return False


_anchor: tuple[int, Nvml] | None = None


def anchor() -> None:
    """Keep NVML open until the process ends: it counts its users, and the first wakes every device.

    A forked child has its own.
    """
    global _anchor
    if _anchor is None or _anchor[0] != os.getpid():
        _anchor = os.getpid(), Nvml()


def weigh_anchor() -> None:
    """Undo :func:`anchor`: a device that was lost is found again only by an NVML opened anew."""
    global _anchor
    if _anchor is not None and _anchor[0] == os.getpid():
        _anchor[1].close()
    _anchor = None
