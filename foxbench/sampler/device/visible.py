"""Which of NVML's devices this process's CUDA sees."""

from __future__ import annotations

import os

from foxbench.sampler.device.nvml import Opened


def visible(devices: list[Opened]) -> list[Opened]:
    """Those that ``CUDA_VISIBLE_DEVICES`` lets this process see, by UUID.

    Numbers in it count in CUDA's own order, fastest first unless ``CUDA_DEVICE_ORDER`` is
    ``PCI_BUS_ID``: where they cannot be told from NVML's, all devices are kept.
    """
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return devices
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    alike = len({one.info.name for one in devices}) <= 1
    # CUDA counts only what the process may use, NVML's index everything in the machine.
    indices = sorted({one.info.index for one in devices})
    kept: list[Opened] = []
    for entry in filter(None, (part.strip() for part in wanted.split(","))):
        if entry.isdecimal():
            if not by_bus and not alike:
                return devices
            index = indices[int(entry)] if int(entry) < len(indices) else None
            chosen = [one for one in devices if one.info.index == index]
        else:
            chosen = [one for one in devices if (one.info.uuid or "").startswith(entry)]
        if not chosen:  # CUDA stops at the first that does not exist
            break
        kept += [one for one in chosen if one not in kept]
    return kept
