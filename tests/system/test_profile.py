"""``foxbench profile`` with real processes: how each kind of run ends, and what is kept of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foxbench.bars import parquet
from foxbench.bars.csv_import import import_csv
from foxbench.bars.synthetic import synthetic
from foxbench.profile import result

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
MIB = 2**20
STEP_BYTES = 24 * MIB

#: A small configuration of each model: the real code in seconds, and steps that are large enough
#: to show in whole pages.
TINY = {
    "dqn": ["hidden=128,64", "capacity=600", "warmup=600", "batch=512"],
    "ppo": ["hidden=32,16", "n_steps=128", "minibatch=32", "epochs=2"],
    "mamba2": ["d_model=64", "layers=1", "seq_len=256", "batch=4"],
    "tft": ["d_model=16", "heads=2", "batch=8", "encoder=20", "decoder=5"],
}


@pytest.fixture(scope="session")
def bars_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=4, seed=3), path)
    return path


@pytest.fixture
def folder(tmp_path):
    """A working directory with a user's module of trainers in it."""
    shutil.copy(Path(__file__).with_name("trainers.py"), tmp_path / "my_trainers.py")
    return tmp_path


def environment(**changes):
    return {**os.environ, "PYTHONPATH": PYTHONPATH, **changes}


#: As the installed command does it: the current folder is not on the search path.
COMMAND = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from foxbench.cli.main import main; sys.exit(main())"
)


def start(folder, *arguments, **options):
    command = [sys.executable, "-c", COMMAND, "profile", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(**options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def foxbench(folder, *arguments, **options):
    process = start(folder, *arguments, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def saved(folder):
    """The one profile that the run left behind."""
    (directory,) = (folder / "foxbench-runs").iterdir()
    return result.read(directory / "profile.json")


def phases(profile):
    return [p.name for p in profile.phases]


BEFORE_STEPS = ["import", "load", "features", "build", "first_step"]


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


def test_a_training_that_raises_keeps_what_was_measured(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Raises", bars_file, "1")
    assert code == 3
    profile = saved(folder)
    assert (profile.status, profile.exit_code) == ("failed", 3)
    assert phases(profile) == BEFORE_STEPS
    assert profile.steps.n_warm == 5
    assert profile.peak_bytes is None
    assert profile.step_peak_bytes is None
    assert profile.seen_peak_bytes > STEP_BYTES
    assert (profile.error.kind, profile.error.step) == ("ValueError", 7)
    assert "my_trainers.py" in profile.error.traceback
    assert "the loss went away" in out


@pytest.mark.parametrize(
    ("trainer", "code", "name"),
    [("KilledHard", 137, "SIGKILL"), ("Segfaults", 139, "SIGSEGV")],
)
def test_a_training_killed_by_a_signal_keeps_what_was_measured(
    folder, bars_file, trainer, code, name
):
    got, out, _ = foxbench(folder, f"my_trainers:{trainer}", bars_file, "1")
    assert got == code
    profile = saved(folder)
    assert profile.status in ("failed", "oom")  # oom only if the kernel killed another meanwhile
    assert phases(profile) == BEFORE_STEPS
    assert profile.steps.median_peak_bytes > STEP_BYTES // 2
    assert profile.seen_peak_bytes > STEP_BYTES
    assert profile.peak_bytes is None
    assert name in out


@pytest.mark.parametrize("trainer", ["LeavesEarly", "CallsExit"])
def test_a_training_that_leaves_with_0_before_its_end_is_a_failure(folder, bars_file, trainer):
    assert foxbench(folder, f"my_trainers:{trainer}", bars_file, "1")[0] == 3
    profile = saved(folder)
    assert profile.status == "failed"
    assert profile.peak_bytes is None


def test_a_refused_allocation_is_out_of_memory(folder, bars_file):
    code, _, _ = foxbench(folder, "my_trainers:RunsOut", bars_file, "1")
    assert code == 3
    profile = saved(folder)
    assert profile.status == "oom"
    assert profile.error.step == 4
    assert phases(profile) == BEFORE_STEPS


def test_a_run_past_its_timeout_is_ended_and_kept(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Sleeps", bars_file, "1", "--timeout=20")
    assert code == 124
    profile = saved(folder)
    assert profile.status == "timeout"
    assert profile.error.step == 3
    assert "--timeout" in out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_is_kept_and_its_training_ended(folder, bars_file, number, code):
    process = start(folder, "my_trainers:Sleeps", bars_file, "1")
    log = wait_for_step(folder, 2)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    profile = saved(folder)
    assert profile.status == "failed"
    assert phases(profile) == BEFORE_STEPS
    assert not training_alive(log.parent)


def test_a_training_ends_with_its_parent(folder, bars_file):
    process = start(folder, "my_trainers:Sleeps", bars_file, "1")
    log = wait_for_step(folder, 2)
    assert training_alive(log.parent)
    process.kill()
    process.communicate(timeout=60)
    for _ in range(100):
        if not training_alive(log.parent):
            break
        time.sleep(0.1)
    assert not training_alive(log.parent)


def wait_for_step(folder, number):
    for _ in range(600):
        for log in (folder / "foxbench-runs").glob("*/log.jsonl"):
            if f'"kind":"step","n":{number},' in log.read_text():
                return log
        time.sleep(0.1)
    raise AssertionError("no step was logged in a minute")


def training_alive(directory):
    """Whether a process runs the worker on this directory's spec."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(directory / "spec.json").encode() in words:
            return True
    return False


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dnq", "BARS"], "dqn"),
        (["dqn", "BARS", "--set=bach=3"], "did you mean 'batch'"),
        (["dqn", "BARS", "--set=batch=many"], "batch=many"),
        (["my_trainers:Plain", "BARS", "--set=batch=3"], "no config"),
        (["dqn", "gone.parquet"], "gone.parquet"),
        (["dqn", "BARS", "1", "--steps-per-epoch=1"], "warms up"),
        (["dqn", "BARS", "zero"], "zero"),
        (["dqn", "BARS", "--json=nowhere/p.json"], "nowhere"),
        (["dqn", "BARS", "--epocs=1"], "--epochs"),
    ],
)
def test_wrong_usage_is_refused_before_a_run_begins(folder, bars_file, arguments, named):
    arguments = [str(bars_file) if a == "BARS" else a for a in arguments]
    code, _, err = foxbench(folder, *arguments)
    assert code == 4
    assert named in err
    assert not (folder / "foxbench-runs").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["my_trainers:Gone", "BARS"], "Gone"),
        (["no_such_module:Trainer", "BARS"], "no_such_module"),
        (["my_trainers:NoStep", "BARS"], "step()"),
        (["dqn", "noise.parquet"], "noise.parquet"),
        (["dqn", "BARS", "--max-bars=400"], "512"),
        (["mamba2", "BARS", "--set=seq_len=250"], "250"),
    ],
)
def test_what_only_the_training_can_find_wrong_exits_with_4_too(
    folder, bars_file, arguments, named
):
    (folder / "noise.parquet").write_bytes(b"PAR1 this is no parquet file PAR1")
    arguments = [str(bars_file) if a == "BARS" else a for a in arguments]
    code, out, _ = foxbench(folder, *arguments)
    assert code == 4
    assert named in out
    assert saved(folder).status == "failed"


def test_a_missing_torch_is_the_environments_fault_and_says_what_to_install(
    folder, bars_file, tmp_path
):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")
    path = os.pathsep.join([str(tmp_path / "site"), PYTHONPATH])
    code, out, _ = foxbench(folder, "dqn", bars_file, PYTHONPATH=path)
    assert code == 5
    assert "pip install 'foxbench[models]'" in out
    assert saved(folder).error.phase == "import"


def test_files_of_the_current_folder_shadow_nothing(folder, bars_file):
    for name in ("numpy", "json", "click", "foxbench"):
        (folder / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    arguments = ("my_trainers:Plain", bars_file, "1", "--steps-per-epoch=2")
    code, out, err = foxbench(folder, *arguments)
    assert code == 0, out + err


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


def test_a_place_that_cannot_be_written_to_is_the_environments_fault(folder, bars_file):
    (folder / "file").write_text("")
    code, _, err = foxbench(folder, "my_trainers:Plain", bars_file, "--out=file")
    assert code == 5
    assert "--out" in err
