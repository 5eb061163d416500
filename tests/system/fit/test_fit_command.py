"""``foxbench fit`` with real trainings under a real limit."""

import json
from pathlib import Path

import pytest
from cli_process import foxbench

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.fit import result
from foxbench.profile import limit, plan, runner
from foxbench.profile import result as profile_result

MIB = 2**20

TRAINERS = '''
import dataclasses
import numpy as np


class Rows:
    """Takes ``rows`` rows of 64 KiB in each step and gives them back."""

    @dataclasses.dataclass(frozen=True)
    class Config:
        rows: int = 64
        fails: bool = False

    def __init__(self, data, config, device):
        self.config = config

    def step(self):
        if self.config.fails and self.config.rows > 100:
            raise ValueError("not that many")
        return float(np.ones((self.config.rows, 8192)).sum())
'''


@pytest.fixture(scope="module")
def bars_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=5, seed=3), path)
    return path


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(TRAINERS)
    return tmp_path


def fit(folder, *arguments):
    return foxbench(folder, "fit", *arguments)


def status_of(model, bars_file, folder, assignments, limit_bytes):
    """How a training of its own under the limit ends: what fit says is checked from outside."""
    request = plan.Request(
        model=model,
        files=(bars_file,),
        epochs=1,
        steps_per_epoch=3,
        assignments=assignments,
        limit_bytes=limit_bytes,
    )
    directory = runner.make_directory(folder / "checks", "check")
    return runner.run(plan.spec(request, directory), directory).status


def test_the_named_batch_of_a_model_runs_inside_the_limit_and_a_quarter_more_does_not(
    folder, bars_file
):
    tiny = ["hidden=64,32", "capacity=3000", "warmup=3000"]
    sets = [f"--set={text}" for text in tiny]
    code, out, err = fit(folder, "dqn", bars_file, "--device", "256 MiB", *sets, "--json=fit.json")
    assert code == 0, out + err
    found = result.read(folder / "fit.json")
    assert found.verdict == "found"
    assert found.value < found.too_large <= found.value * 1.05 + 1
    assert found.predicted_by == "account"
    assert found.limit_kind in limit.KINDS
    assert f"batch {found.value:,} is the largest" in out
    for times, status in ((1.0, "ok"), (1.25, "oom")):
        batch = int(found.value * times)
        settings = ("hidden=64,32", f"batch={batch}", f"warmup={batch}", f"capacity={batch}")
        assert status_of("dqn", bars_file, folder, settings, 256 * MIB) == status
    ran = [t for t in found.trials if t.status == "ok" and t.step_peak_bytes > 4 * MIB]
    assert ran
    for trial in ran:
        assert abs(trial.step_peak_bytes / trial.analytic_step_peak_bytes - 1) < 0.1


def test_a_users_setting_is_fitted_by_what_was_measured_alone(folder, bars_file):
    code, out, err = fit(
        folder, "mine:Rows", bars_file, "--device=256 MiB", "--setting=rows", "--json=fit.json"
    )
    assert code == 0, out + err
    found = result.read(folder / "fit.json")
    assert found.predicted_by == "measured"
    assert found.config == {"rows": found.value, "fails": False}
    small = min((t for t in found.trials if t.need_bytes), key=lambda t: t.value)
    # A row more is 64 KiB more: what is left above the smallest says how many there are.
    expected = small.value + (256 * MIB - small.need_bytes) // 2**16
    assert abs(found.value / expected - 1) < 0.06


def test_without_control_groups_the_other_limit_names_a_size_too(folder, bars_file, monkeypatch):
    from contextlib import nullcontext

    from foxbench.fit import trainings

    monkeypatch.setattr(limit, "_make_group", lambda _: None)
    monkeypatch.chdir(folder)
    wishes = trainings.Wishes("mine:Rows", (bars_file,), 256 * MIB, "rows")
    found = trainings.run(wishes, folder, lambda *_: nullcontext(lambda _record: None))
    assert (found.limit_kind, found.verdict) == ("rlimit", "found")
    assert {t.status for t in found.trials} == {"ok", "oom"}


def test_a_limit_below_an_empty_training_names_nothing(folder, bars_file):
    code, out, _ = fit(folder, "mine:Rows", bars_file, "--device=16 MiB", "--setting=rows")
    assert code == 2
    assert "not even rows 1 fits" in out


def test_a_training_that_fails_for_another_reason_is_not_measured(folder, bars_file):
    code, out, _ = fit(
        folder,
        "mine:Rows",
        bars_file,
        "--device=1 GiB",
        "--setting=rows",
        "--set=fails=true",
        "--json=-",
    )
    assert code == 3
    found = json.loads(out)
    assert found["verdict"] == "not_measured"
    assert 1 <= found["value"] <= 100  # what was measured before is kept
    assert found["trials"][-1]["error"] == "not that many"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dqn", "--device=4"], "--device"),
        (["dqn", "--device=-4 GiB"], "--device"),
        (["dnq", "--device=4 GiB"], "unknown model"),
        (["dqn", "--device=4 GiB", "--setting=gamma"], "gamma"),
        (["dqn"], "--device"),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_trained(folder, bars_file, arguments, named):
    model, *rest = arguments
    code, _, err = fit(folder, model, bars_file, *rest)
    assert code == 4
    assert named in err
    assert not list(folder.glob("foxbench-runs/*/*/profile.json"))


def test_every_result_is_a_file_that_is_read_back_and_refuses_unknown_keys(folder, bars_file):
    fit(folder, "mine:Rows", bars_file, "--device=96 MiB", "--setting=rows")
    (kept,) = folder.glob("foxbench-runs/*/fit.json")
    found = result.read(kept)
    assert all((Path(t.run) / "profile.json").exists() for t in found.trials)
    assert profile_result.read(Path(found.trials[0].run) / "profile.json").limit.bytes == 96 * MIB
    raw = json.loads(kept.read_text())
    raw["trials"][0]["colour"] = 1
    kept.write_text(json.dumps(raw))
    with pytest.raises(Exception, match=r"unknown key trials\[0\].colour"):
        result.read(kept)
