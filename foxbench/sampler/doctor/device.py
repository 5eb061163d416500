"""The check of device memory."""

from __future__ import annotations

from foxbench.sampler.device.probe import probe
from foxbench.sampler.doctor.check import Check, Roots


def nvml(_roots: Roots) -> Check:
    """NVIDIA's management library, the source of device memory."""
    found = probe()
    values: dict[str, int | str | bool | None] = {
        "driver": found.driver,
        "n_devices": len(found.devices) if found.ok else None,
    }
    if not found.ok:
        return Check("nvml", "missing", found.reason, found.remedy, values=values)
    names = ", ".join(device.name for device in found.devices) or "no device"
    return Check("nvml", "ok", f"driver {found.driver}: {names}", values=values)
