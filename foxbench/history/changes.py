"""From a series to what happened in it: steps, creeps, failures, and where.

The search for change points is that of ruptures (PELT; Killick, Fearnhead and Eckley 2012); ours
is the policy: the penalty comes from the noise band, nothing inside the band is called a change,
and a jump at the newest commit is told at once, marked provisional.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foxbench.history.bands import Band, noise_band
from foxbench.history.series import Commit, Point, Series

#: ``step``: a jump that later commits confirm.  ``creep``: a slope that no single commit
#: explains.  ``last commit``: a jump at the newest measured commit, provisional.  ``new
#: failure``: the newest measurement failed where there was a value.  ``vanished``: the suite no
#: longer has the benchmark.
KINDS = ("step", "creep", "last commit", "new failure", "vanished")

_MIN_CREEP_POINTS = 5


@dataclass(frozen=True)
class Change:
    """One change of one series.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    good : Commit
        The last measured commit before it.
    bad : Commit
        The first measured commit with it; of a creep the last, of a vanished benchmark equal to
        ``good``.  The guilty commits are those after ``good`` up to and with ``bad``.
    before_bytes, after_bytes : int or None
        Level (median) on either side; None where there is no figure.
    band_bytes : int
        The noise band it was judged by.
    """

    kind: str
    good: Commit
    bad: Commit
    before_bytes: int | None
    after_bytes: int | None
    band_bytes: int

    @property
    def delta_bytes(self) -> int | None:
        """After minus before; None where either is missing."""
        if self.before_bytes is None or self.after_bytes is None:
            return None
        return self.after_bytes - self.before_bytes

    @property
    def percent(self) -> float | None:
        """``delta_bytes`` in percent of ``before_bytes``; None where that has no meaning."""
        if self.delta_bytes is None or not self.before_bytes:
            return None
        return 100.0 * self.delta_bytes / self.before_bytes

    @property
    def worse(self) -> bool:
        """Whether it is a regression: more bytes, a failure, or a benchmark that is gone."""
        return self.delta_bytes is None or self.delta_bytes > 0

    @property
    def provisional(self) -> bool:
        """Whether one more measured commit is needed to confirm it."""
        return self.kind == "last commit"


@dataclass(frozen=True)
class Segment:
    """A stretch of commits on one level.

    Attributes
    ----------
    begin, end : int
        Half-open range into ``Series.measured``.
    level_bytes : int
        Median of the stretch.
    """

    begin: int
    end: int
    level_bytes: int


@dataclass(frozen=True)
class Verdict:
    """What is known about one series.

    Attributes
    ----------
    series : Series
        With the comparable points only.
    band : Band
    segments : tuple of Segment
    changes : tuple of Change
        Oldest first, improvements among them.
    n_left_out : int
        Older points measured by another instrument than the newest (``sampled`` against ``hwm``,
        another allocator), which do not compare with it.
    """

    series: Series
    band: Band
    segments: tuple[Segment, ...]
    changes: tuple[Change, ...]
    n_left_out: int

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for the worse."""
        return tuple(c for c in self.changes if c.worse)


def judge(series: Series) -> Verdict:
    """Find every change of ``series`` that its noise band does not explain."""
    n_all = len(series.points)
    series = _comparable(series)
    band = noise_band(series)
    measured = series.measured
    values = np.array([p.value_bytes for p in measured], dtype=np.float64)
    segments = _segments(values, band.bytes)
    changes = _level_changes(measured, values, segments, band.bytes)
    changes.extend(_ends(series, band.bytes))
    n_left_out = n_all - len(series.points)
    return Verdict(series, band, tuple(segments), tuple(changes), n_left_out)


def _comparable(series: Series) -> Series:
    if not series.measured:
        return series
    newest = series.measured[-1]
    kept = tuple(
        p
        for p in series.points
        if p.value_bytes is None
        or (p.method, p.quiet_allocator) == (newest.method, newest.quiet_allocator)
    )
    return dataclasses.replace(series, points=kept)


def _segments(values: NDArray[np.float64], band_bytes: int) -> list[Segment]:
    if len(values) == 0:
        return []
    ends = [len(values)]
    if len(values) >= 2 and float(np.ptp(values)) > band_bytes:
        # ruptures imports scipy, a second in every process: only where there is work for it.
        from ruptures import KernelCPD

        # Splitting n values at a jump d saves d**2 / 2 when both sides have one value and d**2
        # when they are long.  Half the band squared therefore finds every jump above the band.
        penalty = band_bytes**2 / 2
        # The linear kernel is the squared error, searched in C: a thousand times faster than
        # ruptures.Pelt with the same answer.  Centred, so that squares of bytes keep precision.
        centred = (values - np.median(values)).reshape(-1, 1)
        found = KernelCPD(kernel="linear", min_size=1).fit(centred).predict(pen=penalty)
        ends = [int(end) for end in found]
    begins = [0, *ends[:-1]]
    segments = [_segment(values, b, e) for b, e in zip(begins, ends, strict=True)]
    while len(segments) > 1:
        gaps = [abs(b.level_bytes - a.level_bytes) for a, b in itertools.pairwise(segments)]
        i = min(range(len(gaps)), key=gaps.__getitem__)
        if gaps[i] > band_bytes:
            break
        segments[i : i + 2] = [_segment(values, segments[i].begin, segments[i + 1].end)]
    return segments


def _segment(values: NDArray[np.float64], begin: int, end: int) -> Segment:
    return Segment(begin, end, round(float(np.median(values[begin:end]))))


def _level_changes(
    measured: Sequence[Point],
    values: NDArray[np.float64],
    segments: Sequence[Segment],
    band_bytes: int,
) -> list[Change]:
    changes: list[Change] = []
    for run in _same_direction_runs(segments):
        if _is_creep(values, run, band_bytes):
            first, last = run[0].begin, run[-1].end - 1
            before, after = _line_ends(values[first : last + 1])
            changes.append(
                Change(
                    "creep",
                    measured[first].commit,
                    measured[last].commit,
                    before,
                    after,
                    band_bytes,
                )
            )
            continue
        for a, b in itertools.pairwise(run):
            newest = b.begin == len(values) - 1
            changes.append(
                Change(
                    "last commit" if newest else "step",
                    measured[a.end - 1].commit,
                    measured[b.begin].commit,
                    a.level_bytes,
                    b.level_bytes,
                    band_bytes,
                )
            )
    return changes


def _same_direction_runs(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Maximal runs of neighbours whose levels only rise or only fall; ends are shared."""
    runs: list[list[Segment]] = []
    for a, b in itertools.pairwise(segments):
        if runs and (runs[-1][-1].level_bytes > runs[-1][-2].level_bytes) == (
            b.level_bytes > a.level_bytes
        ):
            runs[-1].append(b)
        else:
            runs.append([a, b])
    return runs


def _is_creep(values: NDArray[np.float64], run: Sequence[Segment], band_bytes: int) -> bool:
    """Whether one straight line explains the stretch better than its levels do.

    Both pay half the squared band for each change they claim, as the search itself did.
    """
    stretch = values[run[0].begin : run[-1].end]
    if len(stretch) < _MIN_CREEP_POINTS:
        return False
    line = _line(stretch)
    price = band_bytes**2 / 2
    as_line = float(np.sum((stretch - line) ** 2)) + price
    as_levels = price * (len(run) - 1) + sum(
        float(np.sum((values[s.begin : s.end] - np.mean(values[s.begin : s.end])) ** 2))
        for s in run
    )
    return as_line < as_levels


def _line(stretch: NDArray[np.float64]) -> NDArray[np.float64]:
    at = np.arange(len(stretch), dtype=np.float64)
    slope, offset = np.polyfit(at, stretch, 1)
    return np.asarray(slope * at + offset, dtype=np.float64)


def _line_ends(stretch: NDArray[np.float64]) -> tuple[int, int]:
    line = _line(stretch)
    return round(float(line[0])), round(float(line[-1]))


def _ends(series: Series, band_bytes: int) -> list[Change]:
    """What the newest end of the series says beyond its values."""
    if not series.measured:
        return []
    last_good = series.measured[-1]
    if not series.declared:
        gone = last_good.commit
        return [Change("vanished", gone, gone, last_good.value_bytes, None, band_bytes)]
    after = [p for p in series.points if p.commit.order > last_good.commit.order]
    if series.points[-1].status != "failed":
        return []
    first_failed = next(p for p in after if p.status == "failed")
    level = statistics.median_low(
        p.value_bytes for p in series.measured[-3:] if p.value_bytes is not None
    )
    return [Change("new failure", last_good.commit, first_failed.commit, level, None, band_bytes)]
