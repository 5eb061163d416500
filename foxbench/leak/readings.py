"""What was read of a training after each step, or of a command at any time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foxbench.leak.rule import BLOCKS, WARM_UP
from foxbench.leak.statistics import Floats

#: The gauges of a training and what each counts, in the order in which they decide.
GAUGES: Mapping[str, str] = {
    "heap_bytes": "bytes",
    "device_bytes": "bytes",
    "blocks": "blocks",
    "rss_bytes": "bytes",
}

#: A fall at the end of a command is its exit unless it takes a larger share of the time.
_MAX_EXIT = 0.25


@dataclass(frozen=True)
class Readings:
    """The gauges of one training.

    Attributes
    ----------
    steps : float64 (n,)
        Numbers of the steps, from 1.
    series : dict of str to float64 (n,)
        By name of ``GAUGES``, and ``held_bytes``; a gauge that is not there for every step from
        the second on is left out.
    step_wall_ns : int or None
        Mean wall time of a step, those of the warm-up left out.
    """

    steps: Floats
    series: Mapping[str, Floats]
    step_wall_ns: int | None


def from_log(records: Iterable[Mapping[str, Any]]) -> Readings:
    """The readings in the log of a training, whether it finished or not."""
    gauges: list[Mapping[str, Any]] = []
    walls_ns: list[int] = []
    for record in records:
        if record["kind"] == "gauge":
            gauges.append(record)
        elif record["kind"] == "step":
            walls_ns.append(record["wall_ns"])
    series = {}
    for name in (*GAUGES, "held_bytes"):
        values = [record.get(name) for record in gauges]
        # The first step may be what starts to use a device.
        if values and values[0] is None:
            values[0] = values[1] if len(values) > 1 else None
        if values and None not in values:
            series[name] = np.array(values, dtype=np.float64)
    warm_ns = walls_ns[int(len(walls_ns) * WARM_UP) :]
    return Readings(
        steps=np.array([record["n"] for record in gauges], dtype=np.float64),
        series=series,
        step_wall_ns=sum(warm_ns) // len(warm_ns) if warm_ns else None,
    )


@dataclass(frozen=True)
class Followed:
    """The resident sets of a command and its descendants, summed.

    Attributes
    ----------
    seconds : float
        How long it was followed.
    n_samples : int
    centres_s : float64 (BLOCKS,)
        Middles of equal times, those of the warm-up left out.
    minima_bytes : float64 (BLOCKS,)
        Least sum in each.
    last_bytes : int
        Typical of the last block.
    """

    seconds: float
    n_samples: int
    centres_s: Floats
    minima_bytes: Floats
    last_bytes: int


def from_timeline(table: Any) -> Followed | None:
    """Equal times of a timeline, see :mod:`foxbench.sampler.timeline_file`; None of an empty one.

    A timeline keeps changes, so between two buckets the last value goes on.  What a process gives
    back while it leaves is no part of what it held: the fall at the very end is left out.
    """
    if table.num_rows == 0:
        return None
    first_s, lows, lasts, counts = (
        table.column(name).to_numpy().astype(np.float64)
        for name in ("first_ns", "min_bytes", "last_bytes", "count")
    )
    first_s /= 1e9
    begin, end = first_s[0], max(first_s[-1], table.column("max_ns").to_numpy()[-1] / 1e9)
    left_s = _exit_s(first_s, lows, begin + (1 - _MAX_EXIT) * (end - begin), end)
    edges = np.linspace(begin + WARM_UP * (left_s - begin), left_s, BLOCKS + 1)
    # Which bucket each edge falls into or behind: what it held last is what the block begins with.
    at = np.searchsorted(first_s, edges, side="right") - 1
    minima = [
        min(lasts[low], *lows[low + 1 : high + 1]) if high > low else lasts[low]
        for low, high in itertools.pairwise(at)
    ]
    return Followed(
        seconds=float(end - begin),
        n_samples=int(counts.sum()),
        centres_s=(edges[:-1] + edges[1:]) / 2,
        minima_bytes=np.array(minima),
        last_bytes=int(minima[-1]),
    )


def _exit_s(first_s: Floats, lows: Floats, earliest_s: float, end_s: float) -> float:
    """When the first fall behind the last rise begins; the end if none does, or long before it."""
    at = len(lows) - 1
    while at > 0 and lows[at] <= lows[at - 1]:
        at -= 1
    falls = np.flatnonzero(np.diff(lows[at:]) < 0)
    if len(falls) == 0 or first_s[at + falls[0]] < earliest_s:
        return end_s
    return float(first_s[at + falls[0]])
