"""NVML through NVIDIA's own bindings; every way in which it fails becomes one error with advice.

Traps that are met here: a driver too old for a call (its symbol is missing), values that are "not
available", devices split by MIG, process ids of another namespace, a device that is lost.
"""

from __future__ import annotations

import contextlib
import os
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
    "NVML_ERROR_FUNCTION_NOT_FOUND": (
        "the driver is too old for this call",
        "update the NVIDIA driver",
    ),
    "NVML_ERROR_NOT_SUPPORTED": ("this device does not tell", ""),
}


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
        with contextlib.suppress(NotMeasured):
            self._call("nvmlShutdown")

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

    def devices(self) -> list[tuple[Any, DeviceInfo]]:
        """Handles and names of all devices; of one split by MIG, its instances instead."""
        found = []
        for index in range(self._call("nvmlDeviceGetCount")):
            handle = self._call("nvmlDeviceGetHandleByIndex", index)
            for one in self._mig_instances(handle) or [handle]:
                found.append((one, self._info(one, index)))
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
            cause = error.__cause__
            too_old = ("NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_ARGUMENT_VERSION_MISMATCH")
            if isinstance(cause, self._pynvml.NVMLError) and cause.value not in [
                getattr(self._pynvml, name) for name in too_old
            ]:
                raise
            return self._call("nvmlDeviceGetMemoryInfo", handle)

    def used_bytes(self, handle: Any) -> int:
        """Memory in use on a device, whoever uses it; about 20 microseconds."""
        return int(self._memory(handle).used)

    def process_bytes(self, handle: Any, pid: int) -> int | None:
        """Memory of one process on a device; holds the driver's lock, so once a second at most.

        None where the driver does not tell (WSL, MIG, some containers), or does not list the pid:
        in a container NVML lists those of the host.
        """
        try:
            processes = self._call("nvmlDeviceGetComputeRunningProcesses", handle)
        except NotMeasured:
            return None
        own = [p.usedGpuMemory for p in processes if p.pid == pid]
        # The bindings turn "not available" into None; 0 bytes for a listed process is the same.
        if not own or any(not used for used in own):
            return None
        return sum(int(used) for used in own)


def visible(devices: list[tuple[Any, DeviceInfo]]) -> list[tuple[Any, DeviceInfo]]:
    """Those that ``CUDA_VISIBLE_DEVICES`` lets this process see, by UUID.

    Numbers in it count in CUDA's own order, fastest first unless ``CUDA_DEVICE_ORDER`` is
    ``PCI_BUS_ID``: where they cannot be told from NVML's, all devices are kept.
    """
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return devices
    kept = []
    for entry in filter(None, (part.strip() for part in wanted.split(","))):
        if entry.lstrip("-").isdigit():
            by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
            if int(entry) < 0:  # CUDA stops at the first that does not exist
                break
            if not by_bus and len({info.name for _, info in devices}) > 1:
                return devices
            kept += [d for d in devices if d[1].index == int(entry) and d not in kept]
        else:
            kept += [d for d in devices if d[1].uuid.startswith(entry) and d not in kept]
    return kept
