"""Nanoseconds a sample: a bare pread of a kept-open statm, ours in C and from Python, psutil.

All in one run, round by round in turn.  The C program is csrc/tests/bench_sample.c.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from table import ROOT, show

from foxbench.sampler import lowlevel


def build(folder: Path) -> Path:
    """Compile the C program as the extension is compiled."""
    program = folder / "bench_sample"
    sources = [ROOT / "csrc/tests/bench_sample.c", *(ROOT / "csrc").glob("*.c")]
    flags = ["-std=c11", "-O3", "-D_GNU_SOURCE", f"-I{ROOT / 'csrc'}", "-pthread"]
    sources = [path for path in sources if path.name != "_foxsampler.c"]
    subprocess.run(["cc", *flags, "-o", program, *sources], check=True)
    return program


def per_call_ns(call: Callable[[], object], n: int) -> float:
    """Mean of n calls."""
    begin = time.perf_counter_ns()
    for _ in range(n):
        call()
    return (time.perf_counter_ns() - begin) / n


def main(quick: bool) -> None:
    """Print the table."""
    try:
        import psutil
    except ImportError:
        psutil = None
        print("psutil is not installed: not run (python -m pip install psutil)\n")
    kept = psutil.Process() if psutil else None
    rounds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in range(2 if quick else 15):
            said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            figures = dict(line.split() for line in said.splitlines())
            rounds.setdefault("bare pread, C", []).append(float(figures["bare_pread_ns"]))
            rounds.setdefault("a sample, C", []).append(float(figures["sample_ns"]))
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
