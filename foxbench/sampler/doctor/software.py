"""Checks of the packages that measurements run on; none of them is imported."""

from __future__ import annotations

import platform
from importlib import metadata

from foxbench.sampler.doctor.check import Check, Roots


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def python(_roots: Roots) -> Check:
    """The interpreter."""
    version = platform.python_version()
    return Check("python", "info", f"Python {version}", values={"version": version})


def torch(_roots: Roots) -> Check:
    """What the trainers need."""
    version = _version("torch")
    if version is None:
        remedy = "python -m pip install 'foxbench[models]', for the trainers and foxbench profile"
        return Check("torch", "missing", "not installed", remedy, values={"version": None})
    build = version.partition("+")[2]
    finding = f"torch {version}" + (": a build for the CPU alone" if build == "cpu" else "")
    return Check("torch", "ok", finding, values={"version": version})


def asv(_roots: Roots) -> Check:
    """What the history needs."""
    version = _version("asv")
    if version is None:
        remedy = "python -m pip install 'foxbench[asv]', for the suite and its history"
        return Check("asv", "missing", "not installed", remedy, values={"version": None})
    return Check("asv", "ok", f"asv {version}", values={"version": version})
