"""Whether device memory can be measured here; never raises."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.errors import NotMeasured
from foxbench.sampler.device.nvml import Nvml, visible
from foxbench.sampler.device.result import DeviceInfo


@dataclass(frozen=True)
class Probe:
    """What NVML says of itself.

    Attributes
    ----------
    ok : bool
        Whether there is a device that can be measured.
    reason, remedy : str
        Why not, and what mends it; empty when it can.
    driver : str or None
    devices : tuple of DeviceInfo
    """

    ok: bool
    reason: str
    remedy: str
    driver: str | None
    devices: tuple[DeviceInfo, ...]


def probe() -> Probe:
    """Open NVML, look around and close it."""
    try:
        with Nvml() as nvml:
            driver = nvml.driver()
            devices = tuple(info for _, info in visible(nvml.devices()))
    except NotMeasured as error:
        return Probe(False, error.what, error.remedy, None, ())
    if not devices:
        remedy = "check CUDA_VISIBLE_DEVICES; docker: --gpus all"
        return Probe(False, "NVML shows no device to this process", remedy, driver, ())
    return Probe(True, "", "", driver, devices)
