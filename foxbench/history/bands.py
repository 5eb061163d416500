"""The noise band: how far two figures of the same code may lie apart, in bytes.

The spread is taken from repeated measurements of the same commit and pooled over the series; the
floor is what the kernel's counters cannot resolve.  Nothing inside the band is called a change.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from foxbench.history.series import Point, Series

#: Band in standard deviations of one measurement.  The difference of two medians of three has a
#: standard deviation of 0.95 of one measurement's, so that 4 leaves about three false alarms in
#: 100,000 pairs of commits with normal noise.
BAND_SIGMAS = 4.0

_PAGE_BYTES = 4096
_NORMAL_IQR = 1.3489795  # interquartile range of a standard normal
_MAD_TO_SIGMA = 1.4826
_MIN_COMMITS = 6

#: Expected range of n draws from a standard normal (d2 of control charts; D. C. Montgomery,
#: Introduction to Statistical Quality Control, appendix VI).
_EXPECTED_RANGE = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534, 7: 2.704, 8: 2.847}


@dataclass(frozen=True)
class Band:
    """The noise band of a series.

    Attributes
    ----------
    bytes : int
        Two figures that differ by this or less are not called different.
    sigma_bytes : float
        Standard deviation of one measurement; 0.0 where no two measurements differed.
    source : str
        ``repeats``: several processes of one commit.  ``commits``: one process a commit, so the
        spread is that of successive commits, changes left out by their median.  ``floor``:
        what the kernel's counters resolve, either because the spread is smaller or because
        there is nothing yet to take it from.
    n_measurements : int
        Measurements the spread was taken from.
    """

    bytes: int
    sigma_bytes: float
    source: str
    n_measurements: int


def noise_band(series: Series) -> Band:
    """The band of ``series``, from all its measurements."""
    floor = floor_bytes(series.n_cpu)
    points = series.measured
    repeated = [s for s in (_sigma_of_repeats(p) for p in points) if s is not None]
    if repeated:
        # The median over commits: one commit on a busy machine must not widen the band for all.
        sigma, source = statistics.median(repeated), "repeats"
        n = sum(p.n_measurements for p in points if p.n_measurements > 1)
    else:
        values = [p.value_bytes for p in points if p.value_bytes is not None]
        sigma, source = _sigma_of_commits(values), "commits"
        n = len(values)
    half_bytes = math.ceil(BAND_SIGMAS * sigma)
    if half_bytes <= floor:
        return Band(floor, sigma, "floor", n)
    return Band(half_bytes, sigma, source, n)


def floor_bytes(n_cpu: int | None) -> int:
    """What the kernel's counters cannot resolve.

    VmHWM is read from per-CPU counters that are folded in every ``max(32, 2 * CPUs)`` pages
    (``percpu_counter_batch``, linux/lib/percpu_counter.c).  A step runs on one CPU at a time and
    leaves that many pages uncounted there.  asv does not record the page size; 4096 is assumed.
    """
    return max(32, 2 * (n_cpu or 1)) * _PAGE_BYTES


def _sigma_of_repeats(point: Point) -> float | None:
    n = point.n_measurements
    samples = point.samples_bytes
    if samples is not None and len(samples) >= 2:
        if len(samples) in _EXPECTED_RANGE:
            return (max(samples) - min(samples)) / _EXPECTED_RANGE[len(samples)]
        return statistics.stdev(samples)
    if point.quartiles_bytes is None or n < 2:
        return None
    iqr = point.quartiles_bytes[1] - point.quartiles_bytes[0]
    if n <= 3:
        # With asv's interpolated quartiles the interquartile range of two or three values is
        # exactly half their range.
        return 2 * iqr / _EXPECTED_RANGE[n]
    return iqr / _NORMAL_IQR


def _sigma_of_commits(values: Sequence[int]) -> float:
    steps = [b - a for a, b in itertools.pairwise(values)]
    if len(steps) < _MIN_COMMITS:  # a single planted step would be half of the evidence
        return 0.0
    centre = statistics.median(steps)
    spread = statistics.median(abs(s - centre) for s in steps)
    return _MAD_TO_SIGMA * spread / math.sqrt(2)
