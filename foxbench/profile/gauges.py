"""How much a training process holds, after each step: the heap in use, not the resident set.

The resident set moves with what the allocator keeps and gives back, and hides a leak of some
kilobytes a step; the heap in use does not.  Runs in the training process, and keeps nothing.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

from foxbench.sampler import lowlevel

#: Every so many readings all generations are collected, else the youngest alone: a full
#: collection takes as long as a step of a small model.
FULL_COLLECTION_EVERY = 10

#: What the trial allocation must add to the heap for its gauge to be believed.
_TRIAL_BYTES = 1 << 20


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of mallinfo(3), glibc 2.33 and later."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


#: Bytes in use and bytes taken from the kernel, of the allocator of the whole process.
_Heap = Callable[[], tuple[int, int]]


class Gauges:
    """Reads what this process holds.

    Which allocator serves the process is looked up once and tried on one allocation: a gauge that
    does not see it (another allocator was preloaded) is None for good.
    """

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self._heap = next((heap for heap in _heaps(libc) if _sees(libc, heap)), None)
        self._n = 0

    def prepare(self) -> None:
        """Take garbage collection over, right before the first step.

        What exists is frozen: collections then look at the steps' own objects only.
        """
        gc.collect()
        gc.freeze()
        gc.disable()

    def read(self) -> dict[str, int | None]:
        """Collect garbage and read every gauge; leaves nothing behind itself.

        Returns
        -------
        dict
            ``heap_bytes``: allocated and not freed, of all of malloc; ``held_bytes``: what malloc
            took from the kernel for it; ``blocks``: blocks of Python's own allocator in use;
            ``rss_bytes``: the resident set; ``device_bytes``: in torch's tensors on all CUDA
            devices, once their work is done.  None where there is no such gauge.
        """
        self._n += 1
        gc.collect(2 if self._n % FULL_COLLECTION_EVERY == 0 else 0)
        device_bytes = _device_bytes()
        heap_bytes, held_bytes = (None, None) if self._heap is None else self._heap()
        return {
            "heap_bytes": heap_bytes,
            "held_bytes": held_bytes,
            "blocks": sys.getallocatedblocks(),
            "rss_bytes": lowlevel.rss_bytes(),
            "device_bytes": device_bytes,
        }


def _heaps(libc: Any) -> list[_Heap]:
    """What may tell the heap in use; jemalloc first: under it glibc's own figures stand still."""
    found: list[_Heap] = []
    if hasattr(libc, "mallctl"):
        found.append(lambda: (_mallctl(libc, b"stats.allocated"), _mallctl(libc, b"stats.active")))
    if hasattr(libc, "mallinfo2"):
        libc.mallinfo2.restype = _Mallinfo2
        libc.mallinfo2.argtypes = ()
        found.append(lambda: _glibc(libc))
    return found


def _glibc(libc: Any) -> tuple[int, int]:
    """All arenas, and the blocks that were mapped each on its own (``hblkhd``)."""
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd, info.arena + info.hblkhd


def _mallctl(libc: Any, name: bytes) -> int:
    """One of jemalloc's statistics, which it brings up to date when ``epoch`` is written."""
    epoch, value = ctypes.c_uint64(1), ctypes.c_size_t()
    size = ctypes.c_size_t(ctypes.sizeof(value))
    libc.mallctl(b"epoch", None, None, ctypes.byref(epoch), ctypes.c_size_t(ctypes.sizeof(epoch)))
    failed = libc.mallctl(name, ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0))
    return 0 if failed else value.value


def _sees(libc: Any, heap: _Heap) -> bool:
    """Whether an allocation of this process shows in the gauge."""
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = (ctypes.c_size_t,)
    libc.free.restype = None
    libc.free.argtypes = (ctypes.c_void_p,)
    before, _ = heap()
    block = libc.malloc(_TRIAL_BYTES)
    after, _ = heap()
    libc.free(block)
    return block is not None and after - before >= _TRIAL_BYTES


def _device_bytes() -> int | None:
    """Bytes of torch's live tensors; None where the process uses no CUDA device."""
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    total = 0
    for device in range(cuda.device_count()):
        cuda.synchronize(device)
        total += cuda.memory_allocated(device)
    return total
