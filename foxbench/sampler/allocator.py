"""The quiet allocator, and a settled process to measure from.

On glibc's defaults the peak of the same torch step varies by about 15 %, quiet by 0.2 %: its
mmap threshold moves with what was freed before.  Quiet costs CPU time (up to 2x where a step
frees much), so it is for processes that measure memory and for no other.
"""

from __future__ import annotations

import gc
import os

from foxbench.sampler import lowlevel

#: Set before a child starts, these do the same in it as :func:`quiet_allocator`, and from its
#: first allocation on.  Names and values: mallopt(3).
QUIET_ENV: dict[str, str] = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "0",
    "MALLOC_ARENA_MAX": "1",
}

_turned_on = False


def quiet_allocator() -> bool:
    """Make freed bytes of this process go back to the kernel at once, from now on.

    Call it first thing: blocks and arenas that exist already stay as they are.

    Returns
    -------
    bool
        Whether it is on; False where the libc is not glibc, which has no such setting.
    """
    global _turned_on
    _turned_on = lowlevel.quiet_allocator() or _turned_on
    return _turned_on


def is_quiet() -> bool:
    """Whether this process runs quiet, by :func:`quiet_allocator` or by its environment.

    The environment counts as the process was started with it: glibc reads it only then.
    """
    return _turned_on or _started_quiet


def settle() -> None:
    """Collect garbage and give free heap back, so that the next reading holds live bytes only."""
    gc.collect()
    lowlevel.malloc_trim()


def _environ_at_start() -> dict[str, str]:
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:  # hidden in a hardened container: what Python has is the next best
        return dict(os.environ)
    return {
        os.fsdecode(key): os.fsdecode(value)
        for key, equals, value in (pair.partition(b"=") for pair in pairs)
        if equals
    }


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (ValueError, OSError):
        return False


_started_quiet = _is_glibc() and QUIET_ENV.items() <= _environ_at_start().items()
