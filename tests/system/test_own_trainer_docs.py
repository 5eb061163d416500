"""The example of docs/own-trainer.md, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import cli_process
import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.budget import result as budget_result
from foxbench.leak import result as leak_result
from foxbench.profile import result
from foxbench.sweep import result as sweep_result

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "own-trainer.md").read_text()
MIB = 2**20


def block(language, containing):
    """The one code block of a language that holds some text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    (found,) = [text for text in blocks if containing in text]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the page's module, its budgets and some bars."""
    made = tmp_path_factory.mktemp("own")
    (made / "ranges.py").write_text(block("python", "class Trainer:"))
    (made / "budgets.toml").write_text(block("toml", "[[budget]]"))
    parquet.write(synthetic("ES", days=6, seed=3), made / "es.parquet")
    return made


def foxbench(folder, *words):
    code, out, err = cli_process.foxbench(folder, *words)
    return code, out + err


def test_it_is_profiled_with_its_settings_its_parts_and_what_it_says_of_itself(folder):
    code, out = foxbench(
        folder,
        "profile",
        "ranges:Trainer",
        "es.parquet",
        "1",
        "--steps-per-epoch=6",
        "--set=batch=32",
        "--json=p.json",
    )
    assert code == 0, out
    profile = result.read(folder / "p.json")
    assert profile.config["batch"] == 32
    assert [p.name for p in profile.phases][1:3] == ["load", "build"]  # it reads bars as they are
    assert set(profile.steps.part_peak_bytes) == {"forward", "backward", "update", "rest"}
    # The forward pass keeps more than one state of (batch, window, hidden).
    assert profile.steps.part_peak_bytes["forward"] > 32 * 60 * 64 * 4
    assert profile.component_bytes["params"] == 4 * (3 * 64 * (1 + 64 + 2) + 64 + 1)
    assert profile.evaluation["loss"] > 0


def test_its_budget_is_held_against_it(folder):
    code, out = foxbench(
        folder, "validate", "es.parquet", "--preset=quick", "--epochs=1", "--json=v.json"
    )
    assert code in (0, 2), out  # library pages of torch differ from machine to machine
    (row,) = budget_result.read(folder / "v.json").models
    assert (row.name, row.covers, row.budget_bytes) == ("ranges:Trainer", "growth", 128 * MIB)
    assert row.measured_bytes > 16 * MIB


def test_its_settings_are_swept(folder):
    code, out = foxbench(
        folder,
        "sweep",
        "ranges:Trainer",
        "es.parquet",
        "--set=batch=32,128",
        "--steps=4",
        "--json=s.json",
    )
    assert code == 0, out
    small, large = sweep_result.read(folder / "s.json").rows
    assert large.step_peak_bytes > 2 * small.step_peak_bytes


def test_it_does_not_leak(folder):
    code, out = foxbench(
        folder, "leak", "ranges:Trainer", "es.parquet", "--steps=80", "--json=l.json"
    )
    assert code == 0, out
    assert leak_result.read(folder / "l.json").verdict.verdict == "clean"


def test_the_suites_example_is_one_that_the_mixin_takes(monkeypatch, folder):
    """Its settings exist and its trainer is built; test_own_trainer_suite.py runs asv."""
    monkeypatch.syspath_prepend(str(folder))
    names: dict = {}
    text = block("python", "TrainerSuite").replace("mypkg.ranges", "ranges")
    exec(text, names)
    suite = names["Ranges"]()
    suite.days = 6
    suite.setup(suite.params[0][1])
    assert suite.step() > 0
    assert suite._trainer.config.batch == 256
