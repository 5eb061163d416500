"""How a training may end, and what is kept of it; every end is a real one."""

import signal
import time

import pytest
from profile_runs import (
    BEFORE_STEPS,
    STEP_BYTES,
    foxbench,
    phases,
    saved,
    start,
    training_alive,
    wait_for_step,
)


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
    # The samples died with the process that held them, and the report names no such file.
    assert "/{profile.json,profile.html,log.jsonl,output.txt}" in out


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
