"""A rich history in asv's own files, written through asv's own classes without measuring.

What a page must show takes dozens of commits; measuring them is test_foreign_history's job.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace

from asv import util
from asv.results import Results
from asv.runner import BenchmarkResult
from foreign_repo import MACHINE, MIB, ForeignRepo

HOSTILE = "<img src=x onerror=window.pwned=1>"
N_COMMITS = 24


def benchmark(name: str, params: Sequence[Sequence[str]] = (), kind: str = "steppeak") -> dict:
    return {
        "name": name,
        "type": kind,
        "unit": "bytes",
        "version": "1-m1",
        "params": [list(axis) for axis in params],
        "param_names": ["device", "batch"][: len(params)],
        "rounds": 3,
        "code": "",
    }


BENCHMARKS = [
    benchmark("step.Dqn.steppeak_step", [["'cpu'"], ["64", "4096"]]),
    benchmark("step.Dqn.steppeak_first_step", [["'cpu'"], ["64"]]),
    benchmark("step.Mamba2.steppeak_step"),
    benchmark("step.Ppo.steppeak_step"),
    benchmark("step.Ppo.peakmem_step", kind="peakmemory"),
    benchmark("step.Tft.steppeak_step"),
    benchmark("step.Odd.steppeak_step", [[repr(HOSTILE)]]),
]


def levels_at(i: int) -> dict[str, list[float | None]]:
    """MiB of each combination at commit ``i``: steps, a creep, a spike, a failure, a fall."""
    return {
        "step.Dqn.steppeak_step": [2.0, 31.4 * (1.1 if i >= 14 else 1.0)],
        "step.Dqn.steppeak_first_step": [19.8],
        "step.Mamba2.steppeak_step": [61.0 * 1.004**i],
        "step.Ppo.steppeak_step": [4.4 * (0.8 if i >= 9 else 1.0)],
        "step.Ppo.peakmem_step": [337.0 + (30.0 if i == 6 else 0.0)],
        "step.Tft.steppeak_step": [33.2 * (1.03 if i == N_COMMITS - 1 else 1.0)],
        "step.Odd.steppeak_step": [None if i >= 20 else 12.0],
    }


def build(repo: ForeignRepo) -> None:
    """Commit and store :data:`N_COMMITS` commits of results in ``repo``."""
    rng = random.Random(7)
    for i in range(N_COMMITS):
        subject = f"Change {i}" if i != 14 else f"Keep activations {HOSTILE} for the backward"
        repo.commit(1.0 + i / 1000, subject)
    results_dir = repo.root / "results"
    (results_dir / MACHINE).mkdir(parents=True)
    machine = {"machine": MACHINE, "os": "Linux", "arch": "x86_64", "num_cpu": "2", "ram": "8GB"}
    util.write_json(str(results_dir / MACHINE / "machine.json"), {**machine, "cpu": ""}, 1)
    util.write_json(str(results_dir / "benchmarks.json"), {b["name"]: b for b in BENCHMARKS}, 2)
    for i, commit in enumerate(repo.hashes):
        date_ms = int(repo.git("show", "-s", "--format=%at", commit)) * 1000
        stored = Results(
            {**machine, "python": "3.11"}, {}, commit, date_ms, "3.11", "virtualenv-py3.11", {}
        )
        for about in BENCHMARKS:
            stored.add_result(
                about, _measured(levels_at(i)[about["name"]], rng), record_samples=True
            )
        stored.save(str(results_dir))


def _measured(
    levels: Sequence[float | None], rng: random.Random
) -> SimpleNamespace | BenchmarkResult:
    samples = [
        None if mib is None else [round(rng.gauss(mib, 0.0015 * mib) * MIB) for _ in range(3)]
        for mib in levels
    ]
    return BenchmarkResult(
        result=[None if s is None else True for s in samples],
        samples=samples,
        number=[None if s is None else 1 for s in samples],
        errcode=0,
        stderr="",
        profile=None,
    )
