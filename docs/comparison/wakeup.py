"""CPU time of a tick of the sampler beside threads that wait for the same deadlines and do nothing.

What the cheapest of those takes is the machine's price of a wake-up, below which no thread that
samples can come.  The C program is csrc/tests/bench_wakeup.c; "busy" is one more thread that
computes meanwhile, as a training does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from table import build_c, key_values, show


def main(quick: bool) -> dict[str, dict[str, float]]:
    """Print the table; return nanoseconds of CPU time a tick."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = build_c("bench_wakeup", Path(folder))
        for hz in (10000,) if quick else (1000, 10000):
            for busy in (0, 1):
                label = f"{hz:,} Hz" + (", busy" if busy else "")
                found[label] = key_values([program, str(hz), str(busy)])
    rows = []
    for way in next(iter(found.values())):
        name = way.replace("_slack_1ns", ", slack 1 ns").replace("_slack_50000ns", ", slack 50 µs")
        rows.append([name, *(f"{figures[way] / 1e3:.1f}" for figures in found.values())])
    show(["CPU a tick, µs", *found], rows)
    return found
