"""Checks of the packages that measurements run on; none of them is imported."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path

from foxbench.sampler.doctor.check import Check, Roots, Values, text_of


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
    """What the trainers need, and which CUDA it was built for."""
    version = _version("torch")
    if version is None:
        remedy = "python -m pip install 'foxbench[models]', for the trainers and foxbench profile"
        return Check("torch", "missing", "not installed", remedy, values={"version": None})
    cuda = _cuda_build()
    values: Values = {"version": version, "cuda": cuda}
    if cuda:
        return Check("torch", "ok", f"torch {version}: built for CUDA {cuda}", values=values)
    # Wheels of the CPU index say so in their version, those of others in torch/version.py alone.
    cpu = version.endswith("+cpu") or cuda == ""
    finding = f"torch {version}" + (": a build for the CPU alone" if cpu else "")
    return Check("torch", "ok", finding, values={**values, "cuda": cuda or None})


def _cuda_build() -> str | None:
    """The CUDA version in ``torch/version.py``, read as text: empty for none, None for not told."""
    for file in metadata.files("torch") or ():
        if file.parts == ("torch", "version.py"):
            text = text_of(Path(str(metadata.distribution("torch").locate_file(file)))) or ""
            return cuda_of(text)
    return None


def cuda_of(version_py: str) -> str | None:
    """The value of ``cuda`` in the text of torch's version module; empty for its None."""
    found = re.search(r"^cuda\b[^=\n]*=\s*(?:None|'([^']*)'|\"([^\"]*)\")", version_py, re.M)
    return None if found is None else found[1] or found[2] or ""


def asv(_roots: Roots) -> Check:
    """What the history needs."""
    version = _version("asv")
    if version is None:
        remedy = "python -m pip install 'foxbench[asv]', for the suite and its history"
        return Check("asv", "missing", "not installed", remedy, values={"version": None})
    return Check("asv", "ok", f"asv {version}", values={"version": version})
