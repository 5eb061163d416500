"""Contracts between measuring, storing and showing: frozen, in bytes and nanoseconds.

A value that was not measured is ``None``, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foxbench.sampler.device.result import DeviceMeasurement, TorchMemory

#: Bumped whenever the meaning of a figure changes; results of two versions do not compare.
MEASUREMENT_VERSION = 1

#: ``hwm``: the kernel's high-water mark, exact within its error bound.
#: ``sampled``: the largest sample only, a lower bound (clear_refs did not work here).
PEAK_KINDS = ("hwm", "sampled")


@dataclass(frozen=True)
class Peak:
    """A peak by measurement rule 1: max(high-water mark, largest sample, last reading).

    Attributes
    ----------
    bytes : int
    err_bytes : int or None
        How far the true peak may lie above ``bytes``; None for ``sampled``, which has no bound.
    kind : str
        One of ``PEAK_KINDS``.
    hwm_bytes : int or None
        The kernel's mark alone; None where it could not be reset.
    sampled_bytes : int or None
        The largest sample alone; None when no sampler ran, or no sample fell inside.
    """

    bytes: int
    err_bytes: int | None
    kind: str
    hwm_bytes: int | None
    sampled_bytes: int | None


@dataclass(frozen=True)
class Usage:
    """Differences of getrusage(2) over an interval; time in ns, the rest are counts."""

    user_ns: int
    system_ns: int
    minor_faults: int
    major_faults: int
    voluntary_ctxt_switches: int
    involuntary_ctxt_switches: int
    fs_inputs: int
    fs_outputs: int


@dataclass(frozen=True)
class Io:
    """Differences of ``/proc/self/io`` over an interval (proc(5)); bytes, and counts of calls.

    ``rchar_bytes`` and ``wchar_bytes`` went through read and write calls, the page cache
    included; ``read_bytes`` and ``write_bytes`` came from and went to a device.
    """

    rchar_bytes: int
    wchar_bytes: int
    read_calls: int
    write_calls: int
    read_bytes: int
    write_bytes: int
    cancelled_write_bytes: int


@dataclass(frozen=True)
class Split:
    """What memory is made of at one moment; a part that the kernel does not show is None.

    The resident set is ``anon + file + shmem``; ``swap_bytes`` and ``hugetlb_bytes`` are no part
    of it, and so of no peak.
    """

    anon_bytes: int | None
    file_bytes: int | None
    shmem_bytes: int | None
    swap_bytes: int | None
    hugetlb_bytes: int | None


@dataclass(frozen=True)
class Interval:
    """One named interval (a phase, a step) of a measurement.

    Attributes
    ----------
    name : str
    depth : int
        0 for an outermost interval.
    begin_ns, end_ns : int
        CLOCK_MONOTONIC.
    rss_begin_bytes, rss_end_bytes : int
    peak : Peak
        Absolute; ``step_peak_bytes`` is its distance from ``rss_begin_bytes``.
    usage : Usage
    io : Io or None
        None where ``/proc/self/io`` cannot be read.
    split_begin, split_end : Split or None
        None where ``/proc/self/status`` cannot be read.
    torch : tuple of TorchMemory or None
        One a CUDA device; None where torch does not use CUDA.
    """

    name: str
    depth: int
    begin_ns: int
    end_ns: int
    rss_begin_bytes: int
    rss_end_bytes: int
    peak: Peak
    usage: Usage
    io: Io | None
    split_begin: Split | None
    split_end: Split | None
    torch: tuple[TorchMemory, ...] | None = None

    @property
    def step_peak_bytes(self) -> int:
        """High-water mark inside the interval above the RSS at its begin.

        Before Linux 6.16 that RSS lags as the mark does, so the difference may be off by twice
        ``peak.err_bytes``; from 6.16 on by ``peak.err_bytes`` (csrc/errbound.c).
        """
        return max(0, self.peak.bytes - self.rss_begin_bytes)


@dataclass(frozen=True)
class Timeline:
    """Bounded buckets of samples, oldest first; every array has one entry a bucket.

    Attributes
    ----------
    first_ns : int64 array
        CLOCK_MONOTONIC of the bucket's first sample.
    max_ns : int64 array
        When the bucket's maximum was seen.
    min_bytes, max_bytes, last_bytes : int64 arrays
    count : int64 array
        Samples in the bucket.
    """

    first_ns: NDArray[np.int64]
    max_ns: NDArray[np.int64]
    min_bytes: NDArray[np.int64]
    max_bytes: NDArray[np.int64]
    last_bytes: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class Measurement:
    """Everything one ``foxbench.measure`` block measured.

    Attributes
    ----------
    hz : float
        Asked sampling rate.
    whole : Interval
        The block itself.
    intervals : tuple of Interval
        Phases and steps inside the block, in the order they ended.
    timeline : Timeline
    lifetime_peak_bytes : int
        Highest mark of the process so far, kept across the resets made here.
    n_samples, n_missed : int
        Samples taken, and ticks that came too late and were skipped.
    sampler_cpu_ns : int or None
        CPU time of the sampling thread; None where its clock could not be read.
    self_bytes : int
        Memory of the sampler itself, touched before the baseline was read.
    quiet_allocator : bool
        Whether the quiet allocator was on.
    warnings : tuple of str
        What the reader must know to trust the figures.
    device : DeviceMeasurement or None
        None where it was not asked for.
    """

    hz: float
    whole: Interval
    intervals: tuple[Interval, ...]
    timeline: Timeline
    lifetime_peak_bytes: int
    n_samples: int
    n_missed: int
    sampler_cpu_ns: int | None
    self_bytes: int
    quiet_allocator: bool
    warnings: tuple[str, ...]
    device: DeviceMeasurement | None = None


@dataclass(frozen=True)
class StepPeak:
    """The figure of a ``steppeak_`` benchmark.

    Attributes
    ----------
    step_peak_bytes : int
        Peak after the step minus RSS before it, both after ``settle()``.
    rss_before_bytes, rss_after_bytes : int
    peak : Peak
    quiet_allocator : bool
    measurement_version : int
    """

    step_peak_bytes: int
    rss_before_bytes: int
    rss_after_bytes: int
    peak: Peak
    quiet_allocator: bool
    measurement_version: int = MEASUREMENT_VERSION
