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
#: standard deviation of 0.95 of one measurement's; the rest allows for noise that is not normal
#: and for the many pairs of commits that are looked at.
BAND_SIGMAS = 4.0

#: The standard deviation enters as the upper end of its one-sided confidence interval, so that a
#: short history, which knows its noise badly, is slower to call something a change.
_CONFIDENCE = 0.9

#: asv's ``peakmem_`` is the ru_maxrss of a whole process, libraries' file pages included, and how
#: many of those count depends on the state of the page cache: five runs in a row repeat within
#: 1 %, yet the same commit read 291 MB just after its installation and 232 MB later.  Its repeats
#: cannot show that, so its band is a share of the figure.
_WHOLE_PROCESS_SHARE = 0.25

_PAGE_BYTES = 4096
_NORMAL_IQR = 1.3489795  # interquartile range of a standard normal
_MAD_TO_SIGMA = 1.4826
_MIN_COMMITS = 6
_OUTLIER_RATIO = 3.0


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
        there is nothing yet to take it from.  ``assumed``: a share of the figure, for asv's
        ``peakmem_``, whose own repeats do not show how far it strays.
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
    repeated = [s for s in (_spread_of_repeats(p) for p in points) if s is not None]
    if repeated:
        sigma, source = _pooled(repeated, floor), "repeats"
        n = sum(p.n_measurements for p in points if p.n_measurements > 1)
        freedom = n - len(repeated)
    else:
        values = [p.value_bytes for p in points if p.value_bytes is not None]
        sigma, source = _sigma_of_commits(values), "commits"
        n = len(values)
        freedom = n - 1
    half_bytes = math.ceil(BAND_SIGMAS * _upper(sigma, freedom))
    if series.type == "peakmemory" and points:
        level = statistics.median(p.value_bytes for p in points if p.value_bytes is not None)
        assumed_bytes = math.ceil(_WHOLE_PROCESS_SHARE * level)
        if assumed_bytes > max(half_bytes, floor):
            return Band(assumed_bytes, sigma, "assumed", n)
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


def _upper(sigma: float, freedom: int) -> float:
    if sigma == 0.0 or freedom < 1:
        return sigma
    from scipy.special import chdtri  # not scipy.stats, which takes a second to import

    return sigma * math.sqrt(freedom / float(chdtri(freedom, _CONFIDENCE)))


def _spread_of_repeats(point: Point) -> tuple[float, int] | None:
    """Standard deviation and degrees of freedom of one commit's measurements."""
    samples: Sequence[float] | None = point.samples_bytes
    n = point.n_measurements
    if samples is None and point.quartiles_bytes is not None and point.value_bytes is not None:
        low, high = point.quartiles_bytes
        if n > 3:
            return (high - low) / _NORMAL_IQR, n - 1
        # asv interpolates linearly, so two or three values follow from median and quartiles.
        middle = point.value_bytes
        samples = [2 * low - middle, middle, 2 * high - middle]
        if n == 2:
            samples = [middle - (high - low), middle + (high - low)]
    if samples is None or n < 2 or len(samples) < 2:
        return None
    return statistics.stdev(samples), len(samples) - 1


def _pooled(spreads: Sequence[tuple[float, int]], floor: int) -> float:
    """Root of the mean variance, outliers cut: one busy commit must not widen the band of all."""
    most = max(_OUTLIER_RATIO * statistics.median(s for s, _ in spreads), float(floor))
    total = sum(n * min(s, most) ** 2 for s, n in spreads)
    return math.sqrt(total / sum(n for _, n in spreads))


def _sigma_of_commits(values: Sequence[int]) -> float:
    steps = [b - a for a, b in itertools.pairwise(values)]
    if len(steps) < _MIN_COMMITS:  # a single planted step would be half of the evidence
        return 0.0
    centre = statistics.median(steps)
    spread = statistics.median(abs(s - centre) for s in steps)
    return _MAD_TO_SIGMA * spread / math.sqrt(2)
