"""Spikes of 64 to 256 MB held 0.2 ms: what samples see of them, and what the mark does."""

from __future__ import annotations

import ctypes
import mmap
import os
import statistics
import time
from collections.abc import Callable

from table import show

from foxbench.sampler import lowlevel
from foxbench.sampler.handles import SamplerThread

MIB = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


def _touch(area: mmap.mmap, n_bytes: int) -> None:
    byte = ctypes.c_char.from_buffer(area)
    _libc.memset(ctypes.c_void_p(ctypes.addressof(byte)), 1, ctypes.c_size_t(n_bytes))
    del byte


def _hold(area: mmap.mmap, n_bytes: int) -> None:
    _touch(area, n_bytes)
    time.sleep(0.0002)
    area.close()


def anonymous(n_bytes: int) -> None:
    """Ordinary memory."""
    area = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(15)  # MADV_NOHUGEPAGE
    _hold(area, n_bytes)


def huge_pages(n_bytes: int) -> None:
    """Transparent huge pages: faults are few, the spike is short."""
    area = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_HUGEPAGE)
    _hold(area, n_bytes)


def memfd(n_bytes: int) -> None:
    """Shared memory of a file that has no name."""
    fd = os.memfd_create("spike")
    os.ftruncate(fd, n_bytes)
    _hold(mmap.mmap(fd, n_bytes), n_bytes)
    os.close(fd)


def shares(kind: Callable[[int], None], hz: float, n: int) -> tuple[list[float], list[float], int]:
    """Of each spike the share that samples saw and the mark saw; the mark's worst shortfall."""
    thread = SamplerThread(hz, 64)
    thread.start()
    samples, marks, worst = [], [], 0
    for i in range(n):
        n_bytes = (64 + i * 37 % 193) * MIB
        opened = lowlevel.interval_begin()
        kind(n_bytes)
        raw = lowlevel.interval_end(opened)
        seen = max(raw.sampled_bytes or 0, raw.rss_begin_bytes) - raw.rss_begin_bytes
        mark = (raw.hwm_bytes or 0) - raw.rss_begin_bytes
        samples.append(min(1.0, seen / n_bytes))
        marks.append(min(1.0, mark / n_bytes))
        worst = max(worst, n_bytes - max(mark, seen))
    thread.close()
    return samples, marks, worst


def main(quick: bool) -> dict[str, dict[str, object]]:
    """Print the table; return the shares of every spike."""
    rows, found = [], {}
    for kind in (anonymous, huge_pages, memfd):
        for hz in (100, 1000, 10000):
            samples, marks, worst = shares(kind, hz, 5 if quick else 100)
            name = kind.__name__.replace("_", " ")
            found[f"{name}, {hz:,} Hz"] = {
                "samples": samples,
                "mark": marks,
                "worst_bytes_low": worst,
            }
            rows.append(
                (
                    name,
                    f"{hz:,} Hz",
                    f"{statistics.median(samples):.1%} ({min(samples):.1%})",
                    f"{statistics.median(marks):.2%} ({min(marks):.2%})",
                    f"{worst:,}",
                )
            )
    head = ["", "", "samples: median (least)", "mark: median (least)", "peak, worst bytes low"]
    show(head, rows)
    print(f"\nStated bound: {lowlevel.error_bound_here():,} bytes.")
    return {**found, "bound": {"bytes": lowlevel.error_bound_here()}}
