"""torch's own marks of device memory, one resettable counter a device, shared by all intervals.

As with the kernel's mark: before each reset it is folded into every interval that is open
(pytorch issue 16266 is about what happens otherwise).  torch is never imported here: a process
that has not done so, or has not initialised CUDA, has nothing to tell.
"""

from __future__ import annotations

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


def _cuda() -> Any:
    """``torch.cuda`` where it is imported and initialised, else None."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available() or not cuda.is_initialized():
        return None
    return cuda


def in_use() -> bool:
    """Whether torch uses CUDA in this process."""
    return _cuda() is not None


def _fold(cuda: Any) -> None:
    for index in range(cuda.device_count()):
        allocated = cuda.max_memory_allocated(index)
        reserved = cuda.max_memory_reserved(index)
        for level in _open:
            level.allocated[index] = max(level.allocated.get(index, 0), allocated)
            level.reserved[index] = max(level.reserved.get(index, 0), reserved)


def begin() -> Level | None:
    """Open an interval; None where CUDA is not in use yet."""
    cuda = _cuda()
    if cuda is None:
        return None
    with _lock:
        _fold(cuda)
        level = Level()
        for index in range(cuda.device_count()):
            cuda.reset_peak_memory_stats(index)
            level.begin[index] = cuda.memory_allocated(index)
        _open.append(level)
    return level


def end(level: Level | None) -> tuple[TorchMemory, ...] | None:
    """Close an interval and return its figures, a device each; None where there are none."""
    cuda = _cuda()
    if level is None or cuda is None:
        return None
    with _lock:
        _fold(cuda)
        _open.remove(level)
        return tuple(
            TorchMemory(
                index=index,
                allocated_begin_bytes=begin_bytes,
                allocated_end_bytes=cuda.memory_allocated(index),
                peak_allocated_bytes=level.allocated[index],
                peak_reserved_bytes=level.reserved[index],
            )
            for index, begin_bytes in level.begin.items()
        )
