"""benchmarks/sampler.py under a real ``asv run``, and where there is no launcher."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest
from foreign_repo import MACHINE, ForeignRepo

from foxbench.sampler import launcher

SUITE = Path(__file__).parents[2] / "benchmarks" / "sampler.py"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Values by benchmark, and what asv found out about each."""
    repo = ForeignRepo.create(tmp_path_factory.mktemp("instrument"))
    (repo.root / "benchmarks" / "fitting.py").unlink()
    (repo.root / "benchmarks" / "sampler.py").write_bytes(SUITE.read_bytes())
    commit = repo.commit(1.0, "Start")
    repo.asv("machine", "--yes", "--machine", MACHINE)
    words = ("--set-commit-hash", commit, "--machine", MACHINE, "--quick")
    repo.asv("run", "-E", "existing:same", *words)
    (results,) = (repo.root / "results" / MACHINE).glob(f"{commit[:8]}-*.json")
    rows = json.loads(results.read_text())["results"]
    declared = json.loads((repo.root / "results" / "benchmarks.json").read_text())
    declared.pop("version")
    return {name: row[0] for name, row in rows.items()}, declared


def test_every_benchmark_of_the_instrument_gives_a_figure(stored):
    values, declared = stored
    assert set(values) == set(declared)
    assert len(values) == 11
    for name, found in values.items():
        assert found is not None, name
        for value in found:
            assert value is not None, name
            assert math.isfinite(value), name
            assert value > 0, name


def test_the_sampler_and_the_launcher_hold_what_they_must_and_no_more(stored):
    values, _ = stored
    # The timeline's 4096 buckets of 48 bytes and the thread's stack of 256 KiB are in it.
    (sampler,) = values["sampler.Memory.track_sampler"]
    assert 4096 * 48 + (256 << 10) <= sampler <= 4 << 20
    (held,) = values["sampler.Launcher.track_self"]
    assert 100 << 10 < held < 4 << 20


def test_each_benchmark_has_a_version_of_its_own_and_a_unit(stored):
    _, declared = stored
    for name, benchmark in declared.items():
        assert benchmark["version"] == "1", name
        assert benchmark["unit"] in ("seconds", "ns", "bytes"), name


def test_without_a_launcher_its_benchmarks_are_skipped(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("suite_of_the_sampler", SUITE)
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    monkeypatch.setattr(launcher, "launcher_path", lambda: str(tmp_path / "foxbench-run"))
    with pytest.raises(NotImplementedError, match="no launcher in this installation"):
        suite.Launcher().setup()
