"""Several models and files, users' settings, chosen times and devices."""

import json

import pytest
from profile_runs import MIB, STEP_BYTES, foxbench, saved

from foxbench.profile import result


def test_every_model_is_profiled_on_every_file_and_all_are_in_one_table(folder, bars_file):
    other = folder / "other.parquet"
    other.write_bytes(bars_file.read_bytes())
    code, out, err = foxbench(
        folder,
        "my_trainers:Plain,my_trainers:Whole",
        bars_file,
        "1",
        "--also",
        other,
        "--json=all.json",
        "--html=all.html",
    )
    assert code == 0, err
    runs = json.loads((folder / "all.json").read_text())
    assert [(r["model"], r["file"]) for r in runs] == [
        (f"my_trainers:{name}", str(file))
        for file in (bars_file, other)
        for name in ("Plain", "Whole")
    ]
    folders = sorted((folder / "foxbench-runs").iterdir())
    assert len(folders) == 4
    assert {p.name for p in folders[0].iterdir()} >= {"timeline.png", "profile.html"}
    table = out[out.index("all runs") :]
    assert table.count("my_trainers:Whole") == 2
    assert (folder / "all.html").read_text().count("my_trainers:Whole") >= 2


def test_of_several_runs_the_first_failures_code_is_the_commands_and_the_rest_still_run(
    folder, bars_file
):
    models = "my_trainers:Raises,my_trainers:KilledHard,my_trainers:Plain"
    code, out, _ = foxbench(folder, models, bars_file, "1", "--json=-")
    assert code == 3
    assert [r["status"] for r in json.loads(out)][0::2] == ["failed", "ok"]


def test_a_users_config_is_typed_by_its_dataclass(folder, bars_file):
    code, _, err = foxbench(
        folder, "my_trainers:Configured", bars_file, "1", "--set=rows=2048", "--set=width=64,16"
    )
    assert code == 0, err
    profile = saved(folder)
    assert profile.config == {"rows": 2048, "width": [64, 16], "lr": 0.5}
    assert abs(profile.step_peak_bytes - 2048 * 64 * 16 * 8) < 2**20


@pytest.mark.parametrize(
    ("model", "setting", "named"),
    [
        ("Plain", "batch=3", "has no Config"),
        ("Configured", "rovs=3", "did you mean 'rows'"),
        ("Configured", "rows=many", "rows=many"),
    ],
)
def test_a_setting_that_does_not_fit_a_users_config_is_refused(
    folder, bars_file, model, setting, named
):
    code, out, _ = foxbench(folder, f"my_trainers:{model}", bars_file, f"--set={setting}")
    assert code == 4
    assert named in out


def test_a_chosen_time_ends_the_steps(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Plain", bars_file, "--for", "1.5")
    assert code == 0
    profile = saved(folder)
    assert profile.steps.n_total_asked is None
    step = next(p for p in profile.phases if p.name == "step")
    assert step.wall_ns >= 1.5e9
    assert profile.steps.n_settled <= 11
    assert "until the time was over" in out


def test_the_parts_of_a_step_of_torchs_own_are_told_apart(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Eager", bars_file, "1", "--steps-per-epoch=4")
    assert code == 0, out
    parts = saved(folder).steps.part_peak_bytes
    block = 4096 * 1024 * 4
    # x, the layer's output and its square stand when the backward pass begins.
    assert 3 * block - MIB < parts["forward"] <= parts["backward"]
    assert parts["backward"] >= 3 * block
    assert parts["update"] < parts["backward"]
    assert "in its parts" in out


def test_a_trainer_at_its_datas_end_loses_only_the_parts(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Exhausted", bars_file, "1", "--steps-per-epoch=4")
    assert code == 0, out
    profile = saved(folder)
    assert profile.status == "ok"
    assert profile.steps.part_peak_bytes is None
    assert "StopIteration" in out


def test_a_device_that_is_not_here_is_not_measured(folder, bars_file):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one here")
    code, out, _ = foxbench(folder, "dqn", bars_file, "--device=cuda")
    assert code == 3
    profile = saved(folder)
    assert (profile.status, profile.device, profile.peak_bytes) == ("not_measured", "cuda", None)
    assert "no cuda device" in out


def test_two_runs_at_once_never_share_a_folder(folder, bars_file):
    from profile_runs import start

    both = [start(folder, "my_trainers:Plain", bars_file, "1") for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    profiles = [result.read(d / "profile.json") for d in (folder / "foxbench-runs").iterdir()]
    assert [p.status for p in profiles] == ["ok", "ok"]
    assert all(p.step_peak_bytes > STEP_BYTES // 2 for p in profiles)
    for process in both:
        process.stdout.close()
        process.stderr.close()
