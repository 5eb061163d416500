"""torch's own marks of device memory, one resettable counter a device, shared by all intervals.

As with the kernel's mark: before each reset it is folded into every interval that is open
(pytorch issue 16266 is about what happens otherwise).  torch is never imported here: a process
that has not done so, or has not initialised CUDA, has nothing to tell.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from foxbench.sampler.device.result import TorchMemory


@dataclass(eq=False)
class Level:
    """An open interval: what torch held at its begin, and its marks so far, by device."""

    begin: dict[int, int] = field(default_factory=dict)
    allocated: dict[int, int] = field(default_factory=dict)
    reserved: dict[int, int] = field(default_factory=dict)


_lock = threading.Lock()
_open: list[Level] = []


def _forget() -> None:
    """A forked child cannot use its parent's CUDA, and the lock may be another thread's."""
    global _lock
    _lock = threading.Lock()
    _open.clear()


os.register_at_fork(after_in_child=_forget)


def _cuda() -> Any:
    """``torch.cuda`` where it is imported and initialised, else None.

    ``is_initialized`` looks at a flag; ``is_available`` would start the driver, and after that no
    forked child could use CUDA.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    # Without the function while another thread is in the middle of importing it.
    is_initialized = getattr(cuda, "is_initialized", None)
    return cuda if is_initialized is not None and is_initialized() else None


def nvidia_in_use() -> bool:
    """Whether torch uses CUDA in this process, and NVIDIA's, not AMD's under that name."""
    version = getattr(sys.modules.get("torch"), "version", None)
    return _cuda() is not None and getattr(version, "hip", None) is None


def _marks(cuda: Any, index: int) -> tuple[int, int, int]:
    """Bytes allocated now, and the marks of allocated and of reserved bytes.

    All three by one call: ``max_memory_allocated`` and its like each make the same one.
    """
    stats = cuda.memory_stats_as_nested_dict(index)
    allocated = stats["allocated_bytes"]["all"]
    return allocated["current"], allocated["peak"], stats["reserved_bytes"]["all"]["peak"]


def _fold(cuda: Any) -> dict[int, int]:
    """Raise every open interval to the marks; return the bytes allocated now by device."""
    held = {}
    for index in range(cuda.device_count()):
        held[index], allocated, reserved = _marks(cuda, index)
        for level in _open:
            level.allocated[index] = max(level.allocated.get(index, 0), allocated)
            level.reserved[index] = max(level.reserved.get(index, 0), reserved)
    return held


def begin() -> Level | None:
    """Open an interval; None where CUDA is not in use yet, or its allocator keeps no marks."""
    cuda = _cuda()
    if cuda is None:
        return None
    with _lock:
        try:
            held = _fold(cuda)
            for index in held:
                cuda.reset_peak_memory_stats(index)
        except (RuntimeError, KeyError):  # a pluggable allocator
            return None
        level = Level(begin=held)
        _open.append(level)
    return level


def end(level: Level | None) -> tuple[TorchMemory, ...] | None:
    """Close an interval and return its figures, a device each; None where there are none.

    A level that was closed before, or in the parent of this process, has none.
    """
    if level is None:
        return None
    with _lock:
        if level not in _open:
            return None
        cuda = _cuda()
        try:
            held = _fold(cuda) if cuda is not None else None
        except (RuntimeError, KeyError):
            held = None
        _open.remove(level)
        if held is None:
            return None
        return tuple(
            TorchMemory(
                index=index,
                allocated_begin_bytes=begin_bytes,
                allocated_end_bytes=held[index],
                peak_allocated_bytes=level.allocated[index],
                peak_reserved_bytes=level.reserved[index],
            )
            for index, begin_bytes in level.begin.items()
        )
