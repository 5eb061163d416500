"""What is refused, with which exit code, and that nothing is shadowed."""

import os
import subprocess
import sys

import pytest
from profile_runs import PYTHONPATH, environment, foxbench, saved


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dnq", "BARS"], "dqn"),
        (["dqn", "BARS", "--set=bach=3"], "did you mean 'batch'"),
        (["dqn", "BARS", "--set=batch=many"], "batch=many"),
        (["dqn", "gone.parquet"], "gone.parquet"),
        (["dqn", "BARS", "1", "--steps-per-epoch=1"], "warms up"),
        (["dqn", "BARS", "zero"], "zero"),
        (["dqn", "BARS", "--json=nowhere/p.json"], "nowhere"),
        (["dqn", "BARS", "--epocs=1"], "--epochs"),
        (["mamba2", "BARS", "--set=seq_len=250"], "seq_len 250 is not a multiple of chunk 32"),
        (
            ["tft", "BARS", "--set=input_dim=6"],
            "static(5) + known(3) + observed(6) = 14 != input_dim(6)",
        ),
    ],
)
def test_wrong_usage_is_refused_before_a_run_begins(folder, bars_file, arguments, named):
    arguments = [str(bars_file) if a == "BARS" else a for a in arguments]
    code, _, err = foxbench(folder, *arguments)
    assert code == 4
    assert named in err
    assert not (folder / "foxbench-runs").exists()


def test_a_config_that_does_not_fit_is_refused_before_torch_is_imported_or_bars_are_read(bars_file):
    code = f"""
import sys
from pathlib import Path
from foxbench.errors import ConfigError
from foxbench.profile import plan
request = plan.Request("tft", (Path({str(bars_file)!r}),), 1, 9, None,
                       ("input_dim=6", "d_model=63"), 1000.0, True)
try:
    plan.check(request)
except ConfigError as error:
    print(len(error.mismatches), "torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.stdout.split() == ["2", "False"], done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["my_trainers:Gone", "BARS"], "Gone"),
        (["no_such_module:Trainer", "BARS"], "no_such_module"),
        (["my_trainers:NoStep", "BARS"], "step()"),
        (["my_trainers:Misreads", "BARS"], "Misreads.reads is 'bar'"),
        (["dqn", "noise.parquet"], "noise.parquet"),
        (["dqn", "BARS", "--max-bars=400"], "512"),
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


def test_a_place_that_cannot_be_written_to_is_the_environments_fault(folder, bars_file):
    (folder / "file").write_text("")
    code, _, err = foxbench(folder, "my_trainers:Plain", bars_file, "--out=file")
    assert code == 5
    assert "--out" in err
