"""Series of known levels and noise for the unit tests of the history."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from foxbench.history.series import Commit, Point, Series

MIB = 1 << 20


def commit_at(i: int) -> Commit:
    return Commit(f"{i:040x}", i, 1_700_000_000_000 + i, "Ada", f"Change {i}")


def point_at(i: int, samples: Sequence[int] | None, **about: Any) -> Point:
    if samples is None:
        return Point(commit_at(i), "failed", None, n_measurements=0)
    value = round(statistics.median(samples))
    return Point(commit_at(i), "ok", value, tuple(samples), None, len(samples), **about)


def series_of(points: Sequence[Point], **about: Any) -> Series:
    facts = {
        "benchmark": "step.Dqn.steppeak_step",
        "params": (),
        "machine": "fox",
        "environment": "env",
        "branch": "main",
        "type": "steppeak",
        "declared": True,
        "n_cpu": 2,
        **about,
    }
    return Series(points=tuple(points), **facts)


def noisy(levels_mib: Sequence[float | None], share: float = 0.002, n: int = 3, seed: int = 0):
    """One point a level, ``n`` samples with a relative spread of ``share``; None is a failure."""
    rng = np.random.default_rng(seed)
    return series_of(
        [
            point_at(
                i,
                None
                if mib is None
                else [round(x * MIB) for x in rng.normal(mib, share * mib, size=n)],
            )
            for i, mib in enumerate(levels_mib)
        ]
    )
