"""What a profile says of a training that goes well."""

import json

import pytest
from profile_runs import BEFORE_STEPS, STEP_BYTES, TINY, foxbench, phases, saved

from foxbench.bars import parquet
from foxbench.bars.csv_import import import_csv
from foxbench.bars.synthetic import synthetic
from foxbench.profile import result
from foxbench.sampler import timeline_file


@pytest.mark.parametrize("model", list(TINY))
def test_each_model_is_profiled_phase_by_phase(model, folder, bars_file):
    settings = [f"--set={text}" for text in TINY[model]]
    code, out, err = foxbench(folder, model, bars_file, 2, "--steps-per-epoch=3", *settings)
    assert code == 0, out + err
    profile = saved(folder)
    assert profile.status == "ok"
    assert phases(profile) == [*BEFORE_STEPS, "step", "eval"]
    assert profile.steps.n_warm == 5
    assert profile.step_peak_bytes > 0
    assert profile.first_step_peak_bytes > 0
    assert profile.peak_bytes >= max(p.peak_bytes for p in profile.phases)
    assert profile.component_bytes["params"] > 0
    assert "loss" in profile.evaluation
    assert len(profile.losses.epoch_means) == 2
    assert profile.provenance.quiet_allocator
    assert profile.provenance.torch is not None
    assert profile.config["seed"] == 1
    assert profile.n_bars["ES"] > 1000
    assert all(name in out for name in phases(profile))
    assert "not measured" not in out


def test_epochs_that_are_cut_short_say_so(folder, bars_file):
    arguments = ("my_trainers:Whole", bars_file, "2", "--steps-per-epoch=3")
    code, out, _ = foxbench(folder, *arguments)
    assert code == 0
    assert "3 of the 4 steps" in out
    steps = saved(folder).steps
    assert (steps.per_epoch, steps.per_full_epoch, steps.bounded) == (3, 4, True)


def test_a_step_that_takes_a_known_number_of_bytes_is_measured_within_the_bound(folder, bars_file):
    code, out, err = foxbench(folder, "my_trainers:Plain", bars_file, "2", "--steps-per-epoch=9")
    assert code == 0, out + err
    profile = saved(folder)
    bound = next(p for p in profile.phases if p.name == "step").peak_err_bytes
    assert (profile.steps.n_warm, profile.steps.n_settled) == (17, 10)
    assert abs(profile.step_peak_bytes - STEP_BYTES) <= bound + 64 * 1024
    assert profile.component_bytes is None
    assert profile.evaluation is None
    assert profile.steps.per_full_epoch is None
    assert phases(profile) == [*BEFORE_STEPS, "step"]


def test_the_samples_lie_beside_the_profile_tagged_by_phase(folder, bars_file):
    code, out, err = foxbench(folder, "my_trainers:Plain", bars_file, "1", "--steps-per-epoch=9")
    assert code == 0, out + err
    profile = saved(folder)
    (path,) = folder.glob("**/timeline.parquet")
    rows = timeline_file.read(path).to_pylist()
    assert {"import", "load", "features", "step"} <= {row["phase"] for row in rows}
    largest = max(row["max_bytes"] for row in rows)
    assert largest <= profile.peak_bytes + profile.peak_err_bytes


def test_samples_that_cannot_be_kept_are_said_to_be_missing(folder, bars_file):
    # The first step puts a folder where the file is to be.
    code, out, err = foxbench(folder, "my_trainers:TakesThePlace", bars_file, "1")
    assert code == 0, out + err
    assert any("timeline.parquet" in warning for warning in saved(folder).warnings)
    assert "could not be kept" in out


def test_what_a_trainer_says_of_itself_is_stored(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Whole", bars_file, "2")
    assert code == 0
    profile = saved(folder)
    assert profile.component_bytes == {"params": 1000, "buffers": STEP_BYTES}
    assert profile.evaluation == {"loss": 0.25, "ratio": None}
    assert (profile.steps.per_epoch, profile.steps.bounded) == (4, False)
    assert profile.steps.n_total_asked == 8
    assert "24.00" in out


def test_a_trainer_whose_steps_return_no_loss_has_none(folder, bars_file):
    assert foxbench(folder, "my_trainers:Mute", bars_file, "1", "--steps-per-epoch=3")[0] == 0
    assert saved(folder).losses is None


def test_a_loss_that_is_not_finite_is_null_and_said(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Diverges", bars_file, "1", "--steps-per-epoch=4")
    assert code == 0
    assert saved(folder).losses.last is None
    assert "not finite from step 3" in out


def test_the_profile_on_stdout_is_nothing_but_json(folder, bars_file):
    code, out, err = foxbench(
        folder, "my_trainers:Prints", bars_file, "1", "--steps-per-epoch=3", "--json=-"
    )
    assert code == 0
    assert json.loads(out)["status"] == "ok"
    assert "first_step" in err
    (directory,) = (folder / "foxbench-runs").iterdir()
    assert (directory / "output.txt").read_text().count("a line of the trainer's own") == 3


def test_a_second_run_gets_a_folder_of_its_own(folder, bars_file):
    arguments = ("my_trainers:Plain", bars_file, "1", "--steps-per-epoch=2", "--out=kept")
    assert foxbench(folder, *arguments)[0] == 0
    first = {p: p.read_bytes() for p in (folder / "kept").glob("*/*")}
    assert foxbench(folder, *arguments, "--json=p.json")[0] == 0
    assert all(p.read_bytes() == content for p, content in first.items())
    assert len(list((folder / "kept").iterdir())) == 2
    assert result.read(folder / "p.json").status == "ok"


def test_the_allocator_and_tracers_of_the_shell_do_not_reach_the_training(folder, bars_file):
    arguments = ("my_trainers:Plain", bars_file, "1", "--steps-per-epoch=3")
    strange = {"MALLOC_ARENA_MAX": "9", "PYTHONTRACEMALLOC": "5", "OMP_NUM_THREADS": "7"}
    code, out, _ = foxbench(folder, *arguments, "--no-quiet-allocator", **strange)
    assert code == 0
    profile = saved(folder)
    assert not profile.provenance.quiet_allocator
    assert any("quiet allocator is off" in w for w in profile.warnings)
    assert "quiet allocator is off" in out


def test_without_clear_refs_the_figures_are_lower_bounds_and_say_so(folder, bars_file):
    code, out, _ = foxbench(
        folder,
        *("my_trainers:Plain", bars_file, "1", "--steps-per-epoch=5"),
        FOXBENCH_NO_CLEAR_REFS="1",
    )
    assert code == 0
    profile = saved(folder)
    assert profile.peak_kind == "sampled"
    assert profile.peak_err_bytes is None
    assert not profile.provenance.hwm_reset
    assert "lower bound" in out


def test_two_instruments_are_loaded_for_the_model_that_trains_on_several(
    folder, bars_file, tmp_path
):
    parquet.write(synthetic("NQ", days=4, seed=3), tmp_path / "nq.parquet")
    settings = [f"--set={text}" for text in TINY["tft"]]
    code, out, err = foxbench(
        folder, "tft", bars_file, "1", "--steps-per-epoch=2", "--with=nq.parquet", *settings
    )
    assert code == 0, out + err
    assert list(saved(folder).n_bars) == ["ES", "NQ"]


@pytest.mark.realdata
def test_real_bars_of_a_month_are_profiled(folder, real_6e):
    parquet.write(import_csv(real_6e, "6E"), folder / "6e.parquet")
    settings = [f"--set={text}" for text in TINY["dqn"]]
    code, out, err = foxbench(
        folder, "dqn", "6e.parquet", "1", "--steps-per-epoch=3", "--max-bars=3000", *settings
    )
    assert code == 0, out + err
    assert saved(folder).n_bars == {"6E": 3000 - 512}
