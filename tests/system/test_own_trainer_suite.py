"""TrainerSuite under a real ``asv run`` in a repository of somebody else."""

from __future__ import annotations

import json

import pytest
from foreign_repo import MACHINE, MIB, ForeignRepo

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.models.dataset import series

BARS = synthetic("6E", days=4, seed=11)

SUITE = """
from foxbench.trainer_suite import TrainerSuite


class Mine(TrainerSuite):
    trainer = "benchmarks.mine:Trainer"
    days = 5
    params = [[8, 24], ["cpu", "cuda"]]
    param_names = ["mib", "device"]


class OnFiles(TrainerSuite):
    trainer = "benchmarks.mine:OfFeatures"
    files = ("bars.parquet",)
    settings = {"kib_a_bar": 4}
"""

TRAINER = '''
import dataclasses


class Trainer:
    """Keeps ``kept`` MiB from its first step on, and takes ``mib`` more in each."""

    reads = "bars"

    @dataclasses.dataclass(frozen=True)
    class Config:
        mib: int = 1
        kept: int = 4

    def __init__(self, data, config, device):
        assert len(data[0]) > 3000
        self.config, self.held = config, None

    def step(self):
        if self.held is None:
            self.held = b"\\1" * (self.config.kept << 20)
        return len(b"\\1" * (self.config.mib << 20))


class OfFeatures:
    """Takes ``kib_a_bar`` KiB for each row of features."""

    @dataclasses.dataclass(frozen=True)
    class Config:
        kib_a_bar: int = 1

    def __init__(self, data, config, device):
        self.n_bytes = data.first.n_bars * config.kib_a_bar << 10

    def step(self):
        return len(b"\\1" * self.n_bytes)
'''


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    repo = ForeignRepo.create(tmp_path_factory.mktemp("own"))
    (repo.root / "benchmarks" / "fitting.py").write_text(SUITE)
    (repo.root / "benchmarks" / "mine.py").write_text(TRAINER)
    parquet.write(BARS, repo.root / "benchmarks" / "bars.parquet")
    commit = repo.commit(1.0, "Start")
    repo.asv("machine", "--yes", "--machine", MACHINE)
    words = ("--set-commit-hash", commit, "--machine", MACHINE)
    bench = ("--quick", "--bench", "Mine|OnFiles.steppeak_step")
    repo.asv("run", "-E", "existing:same", *bench, *words, failures_allowed=True)
    (stored,) = (repo.root / "results" / MACHINE).glob(f"{commit[:8]}-*.json")
    rows = json.loads(stored.read_text())["results"]
    return {name.split(".", 1)[1]: row[0] for name, row in rows.items()}


def test_a_trainer_has_the_four_benchmarks_and_the_mixin_itself_none(values):
    four = {"time_step", "peakmem_step", "steppeak_step", "steppeak_first_step"}
    assert set(values) == {f"Mine.{name}" for name in four} | {"OnFiles.steppeak_step"}


def test_parameters_are_settings_of_its_config_and_the_step_is_what_they_take(values):
    (small, _, large, _) = values["Mine.steppeak_step"]
    assert abs(small - 8 * MIB) < MIB
    assert abs(large - 24 * MIB) < MIB
    assert abs(values["Mine.steppeak_first_step"][2] - 28 * MIB) < MIB


def test_a_device_that_is_not_here_is_no_figure(values):
    assert values["Mine.steppeak_step"][1] is None
    assert values["Mine.time_step"][3] is None


def test_files_lie_beside_the_benchmark_and_features_are_made_of_them(values):
    (needed,) = values["OnFiles.steppeak_step"]
    assert abs(needed - series(BARS).n_bars * 4096) < MIB
