"""Trainings that fail, are interrupted or end in time, and what is refused before one runs."""

import json
import signal
import time

import pytest
from leak_runs import leak, saved, start


def test_a_leak_found_before_a_failure_is_told_with_it(folder, bars_file):
    code, out, _ = leak(folder, "leaky_trainers:Raises", bars_file, "--set=kib=80")
    assert code == 1
    found = saved(folder)
    assert (found.status, found.verdict.verdict) == ("failed", "leak")
    assert found.verdict.n_readings == 79
    assert "the loss went away, judged by what was read until then" in out


def test_a_clean_beginning_of_a_failed_run_is_no_proof(folder, bars_file):
    code, out, _ = leak(folder, "leaky_trainers:RaisesClean", bars_file)
    assert code == 3
    assert saved(folder).verdict.verdict == "clean"
    assert "the loss went away" in out


def test_a_run_that_fails_at_once_is_not_measured(folder, bars_file):
    code, out, _ = leak(folder, "leaky_trainers:Raises", bars_file, "--set=kib=5")
    assert code == 3
    assert saved(folder).verdict.verdict == "not_measured"
    assert "4 steps were read, a verdict needs 60" in out
    assert "the loss went away" in out


def test_an_interrupted_run_is_judged_by_what_was_read(folder, bars_file):
    process = start(folder, "leaky_trainers:Slow", bars_file, "--set=kib=64")
    for _ in range(600):
        if any('"gauge","n":99,' in log.read_text() for log in folder.glob("*/*/log.jsonl")):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert saved(folder).verdict.verdict == "leak"
    assert "SIGINT" in out


def test_a_run_may_be_bounded_by_time(folder, bars_file):
    code, out, err = leak(
        folder, "leaky_trainers:KeepsBytes", bars_file, "--for=2", "--set=kib=64", "--json=-"
    )
    assert code == 1, err
    assert json.loads(out)["verdict"]["verdict"] == "leak"
    assert "leak" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "FILE"], "unknown model"),
        (["dqn", "missing.parquet"], "cannot read"),
        (["dqn"], "MODEL and FILE"),
        ([], "MODEL and FILE"),
        (["dqn", "FILE", "--steps=100", "--for=3"], "--steps or --for"),
        (["dqn", "FILE", "--budget=4"], "has no unit"),
        (["dqn", "FILE", "--set=colour=red"], "unknown setting"),
        (["dqn", "FILE", "--", "true"], "nothing before it"),
        (["--steps=100", "--", "true"], "are a training's"),
        (["--"], "Name a command"),
        (["--", "no-such-program"], "no program 'no-such-program'"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(folder, bars_file, arguments, message):
    code, _, err = leak(folder, *[bars_file if text == "FILE" else text for text in arguments])
    assert code == 4
    assert message in err
    assert not (folder / "foxbench-runs").exists()
