"""From what C counted to the frozen contracts of ``result``, by measurement rule 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foxbench.sampler.lowlevel import RawInterval
from foxbench.sampler.result import Interval, Peak, Timeline


def peak(raw: RawInterval, err_bytes: int) -> Peak:
    """The peak of an interval: max(high-water mark, largest sample, readings at its ends).

    Parameters
    ----------
    raw : RawInterval
    err_bytes : int
        How far a mark may lie below the truth; dropped where there is no mark.
    """
    readings = [raw.rss_begin_bytes, raw.rss_end_bytes]
    if raw.sampled_bytes is not None:
        readings.append(raw.sampled_bytes)
    if raw.hwm_bytes is None:
        return Peak(max(readings), None, "sampled", None, raw.sampled_bytes)
    return Peak(max(*readings, raw.hwm_bytes), err_bytes, "hwm", raw.hwm_bytes, raw.sampled_bytes)


def interval(raw: RawInterval, name: str, depth: int, err_bytes: int) -> Interval:
    """A named interval with its peak."""
    return Interval(
        name=name,
        depth=depth,
        begin_ns=raw.begin_ns,
        end_ns=raw.end_ns,
        rss_begin_bytes=raw.rss_begin_bytes,
        rss_end_bytes=raw.rss_end_bytes,
        peak=peak(raw, err_bytes),
        usage=raw.usage,
        io=raw.io,
        split_begin=raw.split_begin,
        split_end=raw.split_end,
    )


def timeline(buckets: NDArray[np.int64]) -> Timeline:
    """The timeline of an int64 array (n, 6) whose columns are those of ``fox_bucket``."""
    first, max_at, least, most, last, count = np.ascontiguousarray(buckets.T)
    return Timeline(first, max_at, least, most, last, count)
