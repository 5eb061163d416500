"""StepSuite under a real ``asv run``: discovery, its four benchmarks, failures and skips."""

from __future__ import annotations

import json

import pytest
from foreign_repo import MACHINE, MIB, ForeignRepo

SUITE = """
from foxbench.suite import StepSuite

KEPT, PEAK = 8 << 20, 24 << 20


class Trainer(StepSuite):
    params = ["good", "broken", "absent"]
    param_names = ["kind"]

    def prepare(self, kind):
        if kind == "absent":
            raise NotImplementedError("no such device")
        self.kind, self.kept = kind, None

    def step(self):
        if self.kind == "broken":
            raise RuntimeError("shapes do not fit")
        if self.kept is None:
            self.kept = b"\\1" * KEPT
        return len(b"\\1" * PEAK)
"""


@pytest.fixture(scope="module", params=["spawn", "forkserver"])
def results(request, tmp_path_factory):
    repo = ForeignRepo.create(tmp_path_factory.mktemp("suite"))
    (repo.root / "benchmarks" / "fitting.py").write_text(SUITE)
    commit = repo.commit(1.0, "Start")
    repo.asv("machine", "--yes", "--machine", MACHINE)
    words = ("--set-commit-hash", commit, "--machine", MACHINE, "--launch-method", request.param)
    repo.asv("run", "-E", "existing:same", "--quick", *words, failures_allowed=True)
    (stored,) = (repo.root / "results" / MACHINE).glob(f"{commit[:8]}-*.json")
    columns = json.loads(stored.read_text())
    rows = columns["results"]
    declared = json.loads((repo.root / "results" / "benchmarks.json").read_text())
    return {name.rsplit(".", 1)[1]: row[0] for name, row in rows.items()}, declared


def test_a_subclass_has_the_four_benchmarks_and_the_mixin_itself_none(results):
    values, declared = results
    assert set(values) == {"time_step", "peakmem_step", "steppeak_step", "steppeak_first_step"}
    assert {name.split(".")[1] for name in declared if "." in name} == {"Trainer"}


def test_the_first_step_also_counts_what_stays(results):
    values, _ = results
    assert abs(values["steppeak_step"][0] - 24 * MIB) < MIB
    assert abs(values["steppeak_first_step"][0] - 32 * MIB) < MIB
    assert values["peakmem_step"][0] > 32 * MIB
    assert values["time_step"][0] > 0


def test_a_step_that_fails_is_null_and_a_combination_that_skips_is_nan(results):
    values, _ = results
    for name, (_, broken, absent) in values.items():
        assert broken is None, name
        assert absent != absent, name  # NaN, asv's word for skipped


def test_each_benchmark_has_an_explicit_version(results):
    versions = {n.rsplit(".", 1)[1]: b["version"] for n, b in results[1].items() if "." in n}
    assert versions.pop("steppeak_step") == versions.pop("steppeak_first_step")
    assert set(versions.values()) == {"1"}
