"""Logs of trainings as the worker writes them, of gauges that do as they are told."""

import dataclasses

import numpy as np

from foxbench.leak import readings, verdict
from foxbench.leak.result import SCHEMA_VERSION, LeakResult

MIB = 2**20
N = 100
STEPS = np.arange(1, N + 1)
#: What stands.
FLAT = np.full(N, 300 * MIB)


def records(*, n=N, wall_ns=10_000_000, **series):
    """Step and gauge records; a gauge that is not named stands, one that is None is not there."""
    flat = {"heap_bytes": 100 * MIB, "held_bytes": 110 * MIB, "blocks": 90_000}
    flat |= {"rss_bytes": 300 * MIB, "device_bytes": None}
    for i in range(n):
        yield {"kind": "step", "n": i + 1, "wall_ns": wall_ns}
        gauges = {
            name: flat[name]
            if name not in series
            else None
            if series[name] is None
            else int(series[name][i])
            for name in flat
        }
        yield {"kind": "gauge", "n": i + 1, **gauges}


def judged(budget_bytes=None, **how):
    return verdict.of_training(readings.from_log(records(**how)), budget_bytes)


def made(verdict=None, **changes):
    plain = LeakResult(
        schema_version=SCHEMA_VERSION,
        kind="training",
        model="dqn",
        files=("/data/es.parquet",),
        config={"batch": 64},
        command=(),
        started_at="2026-01-01T00:00:00+00:00",
        status="ok",
        error=None,
        run_exit_code=0,
        verdict=judged(heap_bytes=FLAT + 4096 * STEPS) if verdict is None else verdict,
        provenance=None,
    )
    return dataclasses.replace(plain, **changes)
