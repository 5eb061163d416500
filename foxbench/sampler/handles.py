"""The instrument's C objects, each owned by one Python object: a timeline, a sampling thread."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foxbench.sampler._extension import check, extension, measured

_BAD_CAPACITY = {errno.EINVAL: "give a capacity that is a power of two from 2 to 1048576"}


@dataclass(frozen=True)
class SamplerStats:
    """Counters of a sampling thread; ``cpu_ns`` is None while it runs."""

    n_samples: int
    n_missed: int
    n_errors: int
    cpu_ns: int | None
    self_bytes: int
    max_bytes: int | None
    first_errno: int
    running: bool


class TimelineBuffer:
    """Owns a ``fox_timeline``: bounded buckets that lose no maximum."""

    def __init__(self, capacity: int) -> None:
        x = extension()
        out = x.ffi.new("fox_timeline **")
        code = x.lib.fox_timeline_new(capacity, out)
        check(code, f"a timeline of {capacity} buckets", _BAD_CAPACITY)
        self._c = x.ffi.gc(out[0], x.lib.fox_timeline_free)

    def add(self, now_ns: int, value_bytes: int) -> None:
        """Append a sample; times must not go back, values must not be negative."""
        code = extension().lib.fox_timeline_add(self._c, now_ns, value_bytes)
        wanted = {errno.EINVAL: "add samples in the order of their times, none below 0"}
        check(code, f"a sample of {value_bytes} bytes at {now_ns} ns", wanted)

    def buckets(self) -> NDArray[np.int64]:
        """An int64 array (n, 6): the columns of ``fox_bucket`` in the header's order."""
        x = extension()
        return _copy(x.lib.fox_timeline_length, x.lib.fox_timeline_copy, self._c)


class SamplerThread:
    """Owns a ``fox_sampler``: the thread, its memory and its timeline."""

    def __init__(self, hz: float, capacity: int) -> None:
        x = extension()
        out = x.ffi.new("fox_sampler **")
        wanted = {errno.EINVAL: "use 100 to 10000 Hz; " + _BAD_CAPACITY[errno.EINVAL]}
        code = x.lib.fox_sampler_new(hz, capacity, out)
        check(code, f"a sampler of {hz} Hz and {capacity} buckets", wanted)
        self._c = x.ffi.gc(out[0], x.lib.fox_sampler_free)

    def start(self) -> None:
        """Take a first sample and start the thread."""
        running = {errno.EALREADY: "stop it first"}
        check(extension().lib.fox_sampler_start(self._c), "starting the sampler", running)

    def stop(self) -> None:
        """Stop the thread; a second call does nothing."""
        forked = {errno.ESRCH: "stop it in the process that started it: fork copies no thread"}
        check(extension().lib.fox_sampler_stop(self._c), "stopping the sampler", forked)

    def stats(self) -> SamplerStats:
        """Counters now."""
        out = extension().ffi.new("fox_sampler_stats *")
        check(extension().lib.fox_sampler_read(self._c, out), "reading the sampler")
        return SamplerStats(
            out.n_samples,
            out.n_missed,
            out.n_errors,
            measured(out.cpu_ns),
            out.self_bytes,
            measured(out.max_bytes),
            -out.first_error,
            bool(out.running),
        )

    def buckets(self) -> NDArray[np.int64]:
        """An int64 array (n, 6): the columns of ``fox_bucket`` in the header's order."""
        x = extension()
        return _copy(x.lib.fox_sampler_length, x.lib.fox_sampler_copy, self._c)

    def close(self) -> None:
        """Stop where needed and give the memory back; using it afterwards is an error."""
        if self._c is not None:
            extension().ffi.release(self._c)
            self._c = None


def _copy(length: Any, copy: Any, c: Any) -> NDArray[np.int64]:
    x = extension()
    n = x.ffi.new("int64_t *")
    while True:
        # A running sampler may add between asking and copying: room to spare, and ask again.
        rows = np.zeros((int(length(c)) + 64, 6), dtype=np.int64)
        into = x.ffi.from_buffer("fox_bucket[]", rows, require_writable=True)
        code = copy(c, into, rows.shape[0], n)
        if code != -errno.ENOSPC:
            check(code, "copying the timeline")
            kept: NDArray[np.int64] = rows[: int(n[0])].copy()
            return kept
