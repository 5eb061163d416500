"""What a run was measured with: stored beside every figure (measurement rule 6)."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Any

from foxbench.profile.spec import Spec
from foxbench.sampler import allocator
from foxbench.sampler.provenance import capabilities
from foxbench.sampler.result import MEASUREMENT_VERSION


def provenance(spec: Spec) -> dict[str, Any]:
    """The fields of :class:`foxbench.profile.result.Provenance`."""
    able = capabilities()
    return {
        "foxbench": _version("foxbench"),
        "measurement_version": MEASUREMENT_VERSION,
        "python": platform.python_version(),
        "torch": _version("torch") if "torch" in sys.modules else None,
        "numpy": _version("numpy"),
        "kernel": platform.release(),
        "page_bytes": able.page_bytes,
        "n_cpus": able.n_cpus,
        "quiet_allocator": allocator.is_quiet(),
        "threads": spec.threads,
        "hz": spec.hz,
        "hwm_reset": able.hwm_reset,
        "libc": able.libc,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
