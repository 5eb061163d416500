"""The facts of a machine without which its figures mean little."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import os
import platform
from pathlib import Path


def _first(path: str, key: str) -> str | None:
    """The value of the first ``key : value`` line of a file."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _version(package: str) -> str | None:
    """None where it is not installed."""
    found = importlib.util.find_spec(package)
    return None if found is None else importlib.metadata.version(package)


def facts() -> dict[str, object]:
    """What is stored beside the figures; None where this system does not tell."""
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": _first("/proc/cpuinfo", "model name"),
        "n_cpus": os.cpu_count(),
        "n_cpus_allowed": len(os.sched_getaffinity(0)),
        "page_bytes": mmap.PAGESIZE,
        "huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "clock_source": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hypervisor": "hypervisor" in (_first("/proc/cpuinfo", "flags") or "").split(),
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
        "torch": _version("torch"),
        "foxbench": _version("foxbench"),
    }
