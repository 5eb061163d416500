"""However a training ends, its row says so, keeps what was measured, and costs no other row."""

import os
import shutil
import signal
import subprocess

import pytest
from validate_runs import (
    MIB,
    STEP_BYTES,
    budget_of,
    budgets,
    rows,
    start,
    validate,
    wait_for_step,
)

from foxbench.budget import result
from foxbench.profile import result as profile_result

ENDS = ("Plain", "Raises", "KilledHard", "RunsOut", "Sleeps")


@pytest.fixture(scope="module")
def every_end(tmp_path_factory, make_folder):
    """One validation of trainers that end in every way; code, stdout, stderr, folder."""
    folder = make_folder(tmp_path_factory.mktemp("ends"))
    budgets(folder, *(budget_of(name, "2 GB", 'owner = "ada"') for name in ENDS))
    reports = ("--json=v.json", "--markdown=v.md", "--html=v.html")
    return (*validate(folder, "--timeout=12", *reports), folder)


def test_a_model_that_did_not_finish_makes_the_verdict_incomplete_and_never_a_pass(every_end):
    code, out, _, folder = every_end
    assert code == 3
    found = result.read(folder / "v.json")
    assert found.verdict == "incomplete"
    assert "incomplete" in out
    assert found.budgets == str(folder / "budgets.toml")
    assert found.budgets in out


def test_each_row_has_its_own_status_and_where_it_ended(every_end):
    found = rows(every_end[3] / "v.json")
    assert list(found) == list(ENDS)
    status = {name: row.status for name, row in found.items()}
    assert status["Plain"] == "ok"
    assert status["Raises"] == "failed"
    assert status["KilledHard"] in ("failed", "oom")  # oom only if the kernel killed another
    assert status["RunsOut"] == "oom"
    assert status["Sleeps"] == "timeout"
    where = {n: (row.error.phase, row.error.step) for n, row in found.items() if row.error}
    assert where == {
        "Raises": ("step", 7),
        "KilledHard": ("step", 5),
        "RunsOut": ("step", 4),
        "Sleeps": ("step", 3),
    }
    assert "the loss went away" in found["Raises"].error.message
    assert "SIGKILL" in found["KilledHard"].error.message


def test_only_the_model_that_finished_has_figures_and_a_place_in_the_sum(every_end):
    folder = every_end[3]
    found = rows(folder / "v.json")
    plain = found.pop("Plain")
    assert plain.headroom_bytes == plain.budget_bytes - plain.peak_bytes
    assert plain.step_peak_bytes > STEP_BYTES - MIB  # what the kernel's counters resolve
    assert plain.peak_bytes > plain.growth_bytes > STEP_BYTES - MIB
    assert plain.final_loss == pytest.approx(0.01)
    assert plain.seconds > 0
    for row in found.values():
        assert row.peak_bytes is row.measured_bytes is row.headroom_bytes is row.final_loss is None
    together = result.read(folder / "v.json").coresidence
    assert together.sum_bytes == plain.peak_bytes + plain.peak_err_bytes
    assert set(together.left_out) == {f"my_trainers:{name}" for name in found}


def test_what_was_measured_before_the_end_is_kept_and_shown(every_end):
    _, out, _, folder = every_end
    for name, row in rows(folder / "v.json").items():
        profile = profile_result.read(f"{row.run}/profile.json")
        assert [p.name for p in profile.phases][:5] == [
            "import",
            "load",
            "features",
            "build",
            "first_step",
        ]
        if name != "Plain":
            assert row.seen_peak_bytes == profile.seen_peak_bytes > STEP_BYTES
            assert f">= {row.seen_peak_bytes / MIB:,.2f}" in out


def test_every_report_tells_of_every_model(every_end):
    _, out, err, folder = every_end
    page, text = (folder / "v.html").read_text(), (folder / "v.md").read_text()
    for name in ENDS:
        assert f"my_trainers:{name}" in out
        assert f"my_trainers:{name} (" in err  # the progress
        assert f"my_trainers:{name}" in page
        assert f":{name}" in text
    assert "the loss went away" in page
    assert "the loss went away" in text


def test_over_budget_is_proven_whatever_else_failed(folder):
    budgets(folder, budget_of("Plain", "1 MB"), budget_of("Raises", "2 GB"))
    code, out, _ = validate(folder, "--json=v.json")
    assert code == 2
    found = rows(folder / "v.json")
    assert (found["Plain"].status, found["Raises"].status) == ("over_budget", "failed")
    assert found["Plain"].headroom_bytes == 10**6 - found["Plain"].peak_bytes
    assert result.read(folder / "v.json").verdict == "over_budget"
    assert "over its budget" in out


def test_a_file_that_vanishes_midway_costs_its_own_models_only(folder):
    budgets(folder, 'model = "taking:TakesTheBars"\nlimit = "2 GB"', budget_of("Plain", "2 GB"))
    code, out, _ = validate(folder, "--json=v.json")
    assert code == 3
    found = rows(folder / "v.json")
    assert found["TakesTheBars"].status == "ok"
    assert found["TakesTheBars"].peak_bytes > STEP_BYTES
    assert found["Plain"].status == "failed"
    assert "es.parquet" in found["Plain"].error.message
    assert "No such file" in out


def test_an_interrupt_ends_the_validation_and_keeps_the_rows(folder):
    budgets(folder, *(budget_of(name, "2 GB") for name in ("Plain", "Sleeps", "Whole")))
    process = start(folder, "es.parquet", "--epochs=1", "--json=v.json")
    wait_for_step(folder, "Sleeps", 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    found = rows(folder / "v.json")
    assert [row.status for row in found.values()] == ["ok", "failed", "not_measured"]
    assert found["Whole"].error.kind == "Interrupted"
    assert "interrupted" in out


def test_a_device_that_is_not_there_is_not_measured_and_found_out_once(folder):
    device = 'device = "cuda"'
    budgets(folder, *(f'model = "{m}"\nlimit = "1 GB"\n{device}' for m in ("dqn", "mamba2")))
    code, _, _ = validate(
        folder, "--device=cuda", "--preset=quick", "--json=v.json", CUDA_VISIBLE_DEVICES=""
    )
    assert code == 3
    found = rows(folder / "v.json")
    assert [row.status for row in found.values()] == ["not_measured"] * 2
    assert all("no cuda device" in row.error.message for row in found.values())
    assert [row.run is not None for row in found.values()] == [True, False]


def test_a_report_on_a_full_disk_loses_nothing_else(folder):
    budgets(folder, budget_of("Plain", "2 GB"))
    small = folder / "small"
    small.mkdir()
    mounted = _mount(small)
    target = small / "v.html" if mounted else _full(small / "v.html")
    try:
        code, out, err = validate(folder, f"--html={target}", "--json=v.json", "--markdown=v.md")
    finally:
        if mounted:
            subprocess.run(["umount", small], check=True)
    assert code == 5
    assert f"cannot write {target}: No space left" in err
    assert "every model fits its budget" in out
    assert (folder / "v.md").exists()
    (row,) = rows(folder / "v.json").values()
    assert profile_result.read(f"{row.run}/profile.json").status == "ok"


def _mount(path):
    """A real file system of one page; False where this user may not mount."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", path]
    return subprocess.run(command, capture_output=True).returncode == 0


def _full(path):
    path.symlink_to("/dev/full")
    return path


def test_a_training_over_a_real_limit_is_oom_and_the_others_still_run(folder):
    budgets(folder, *(budget_of(name, "2 GB") for name in ("Grows", "Plain")))
    code, out, err = validate(folder, "--limit=256 MiB", "--json=v.json")
    assert code == 3, err
    found = rows(folder / "v.json")
    assert (found["Grows"].status, found["Plain"].status) == ("oom", "ok")
    assert found["Grows"].peak_bytes is None
    assert found["Grows"].seen_peak_bytes > 128 * MIB
    assert found["Grows"].steps >= 5  # 16 MiB each, in what is left of 256
    assert "oom" in out
