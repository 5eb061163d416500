"""Nanoseconds a sample: a bare pread of a kept-open statm, ours in C and from Python, psutil.

All in one run, round by round in turn.  The C program is csrc/tests/bench_sample.c.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from table import build_c, install_peers, key_values, show

from foxbench.sampler import lowlevel


def per_call_ns(call: Callable[[], object], n: int) -> float:
    """Mean of n calls."""
    begin = time.perf_counter_ns()
    for _ in range(n):
        call()
    return (time.perf_counter_ns() - begin) / n


def load_psutil(folder: str) -> Any:
    """The pinned psutil, installed beside and not into this interpreter; None where it cannot."""
    if not install_peers(folder, "psutil"):
        print("psutil cannot be installed: not run\n")
        return None
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    return importlib.import_module("psutil")


def main(quick: bool) -> dict[str, list[float]]:
    """Print the table; return nanoseconds by way and round."""
    rounds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = build_c("bench_sample", Path(folder))
        psutil = load_psutil(folder)
        kept = psutil.Process() if psutil else None
        for _ in range(2 if quick else 15):
            figures = key_values([program])
            rounds.setdefault("bare pread, C", []).append(figures["bare_pread_ns"])
            rounds.setdefault("a sample, C", []).append(figures["sample_ns"])
            ours = per_call_ns(lowlevel.rss_bytes, 20000)
            rounds.setdefault("rss_bytes(), Python", []).append(ours)
            if kept is not None:
                theirs = per_call_ns(kept.memory_info, 2000)
                rounds.setdefault("psutil memory_info(), kept Process", []).append(theirs)
                fresh = per_call_ns(lambda: psutil.Process().memory_info(), 500)
                rounds.setdefault("psutil.Process().memory_info()", []).append(fresh)
    bare, sample = rounds["bare pread, C"], rounds["a sample, C"]
    show(
        ["", "ns, median", "to a bare pread", "to a sample in C"],
        [
            (
                name,
                f"{statistics.median(values):,.0f}",
                f"{statistics.median(v / b for v, b in zip(values, bare, strict=True)):.2f}x",
                f"{statistics.median(v / s for v, s in zip(values, sample, strict=True)):.1f}x",
            )
            for name, values in rounds.items()
        ],
    )
    return rounds
