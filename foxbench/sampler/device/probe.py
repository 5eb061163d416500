"""Whether device memory can be measured here; never raises."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.errors import NotMeasured
from foxbench.sampler.device.nvml import NO_DEVICE, Nvml
from foxbench.sampler.device.result import DeviceInfo
from foxbench.sampler.device.visible import visible


@dataclass(frozen=True)
class Probe:
    """What NVML says of itself.

    Attributes
    ----------
    ok : bool
        Whether there is a device that can be measured.
    reason, remedy : str
        What is wrong with it, or with one of its devices, and what mends it; else empty.
    driver : str or None
    devices : tuple of DeviceInfo
        Those that can be measured.
    """

    ok: bool
    reason: str
    remedy: str
    driver: str | None
    devices: tuple[DeviceInfo, ...]


def probe() -> Probe:
    """Open NVML, look around and close it."""
    driver: str | None = None
    try:
        with Nvml() as nvml:
            driver = nvml.driver()
            opened = visible(nvml.devices())
    except NotMeasured as error:
        return Probe(False, error.what, error.remedy, driver, ())
    devices = tuple(one.info for one in opened if one.fault is None)
    for one in opened:
        if one.fault is not None:
            reason = f"{one.info.name}: {one.fault.what}"
            return Probe(bool(devices), reason, one.fault.remedy, driver, devices)
    if not devices:
        return Probe(False, *NO_DEVICE, driver, ())
    return Probe(True, "", "", driver, devices)
