"""The check of device memory."""

from __future__ import annotations

from foxbench.sampler.device.probe import probe
from foxbench.sampler.doctor.check import Check, Roots, Values


def nvml(_roots: Roots) -> Check:
    """NVIDIA's management library, the source of device memory."""
    found = probe()
    values: Values = {
        "driver": found.driver,
        "n_devices": len(found.devices) if found.ok else None,
    }
    if not found.ok:
        return Check("nvml", "missing", found.reason, found.remedy, values=values)
    names = ", ".join(device.name for device in found.devices)
    finding = f"driver {found.driver}: {names}"
    if found.reason:  # one device of several cannot be measured
        return Check("nvml", "limited", f"{finding}; {found.reason}", found.remedy, values=values)
    return Check("nvml", "ok", finding, values=values)
