"""Loading the compiled instrument, and turning its -errno into errors with remedies."""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import Any

from foxbench.errors import EnvironmentFault, SamplerError

#: What to do about an error number, whichever call gave it.
_REMEDIES = {
    errno.ENOENT: "mount /proc in this container (docker: do not mask it)",
    errno.EACCES: (
        "run as the user who started the process, or set FOXBENCH_NO_CLEAR_REFS=1 to sample only"
    ),
    errno.EROFS: "mount /proc read-write, or set FOXBENCH_NO_CLEAR_REFS=1 to sample only",
    errno.EMFILE: "raise the limit of open files: ulimit -n 4096",
    errno.ENOMEM: "free memory, or raise the container's limit: the sampler needs about 0.5 MB",
    errno.EAGAIN: "raise the limit of threads: ulimit -u, or the container's pids limit",
    errno.ENOSPC: "close measurements that are still open: a process has room for 1,048,576",
}


@functools.cache
def extension() -> Any:
    """The cffi module; EnvironmentFault off Linux and where it was not built."""
    if not sys.platform.startswith("linux"):
        raise EnvironmentFault(
            f"the sampler reads /proc and runs on Linux only, not on {sys.platform}",
            "run it in a Linux container or machine: docker run -v $PWD:/src python:3.12",
        )
    try:
        from foxbench.sampler import _foxsampler  # type: ignore[attr-defined,unused-ignore]
    except ImportError as error:
        raise EnvironmentFault(
            f"the compiled sampler of foxbench cannot be loaded: {error}",
            "build it: python -m pip install -e . in the repository, or install the wheel",
        ) from error
    return _foxsampler


def available() -> bool:
    """Whether the compiled sampler can be loaded here."""
    try:
        extension()
    except EnvironmentFault:
        return False
    return True


def check(code: int, doing: str, remedies: dict[int, str] | None = None) -> None:
    """Raise SamplerError for a negative ``code``; ``remedies`` by errno go before the general."""
    if code >= 0:
        return
    number = -code
    remedy = (remedies or {}).get(number) or _REMEDIES.get(number, "")
    raise SamplerError(f"{doing}: {os.strerror(number)}", number, remedy)


def measured(value: int) -> int | None:
    """None for the -1 by which C says "not measured"."""
    return None if value < 0 else value
