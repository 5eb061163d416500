"""Real training processes with and without planted leaks."""

import json
import signal
import time

import pytest
from leak_runs import leak, saved, start, trend

KIB = 1024


@pytest.mark.parametrize("kib", [4, 64, 1024])
@pytest.mark.parametrize("trainer", ["KeepsBytes", "KeepsTensors", "KeepsGraphs"])
def test_a_planted_leak_is_found_and_measured(folder, bars_file, trainer, kib):
    code, out, err = leak(
        folder, f"leaky_trainers:{trainer}", bars_file, "--steps=200", f"--set=kib={kib}"
    )
    assert code == 1, err
    found = saved(folder).verdict
    assert (found.verdict, found.gauge) == ("leak", "heap_bytes")
    # A kept graph holds weights and activations: some times the plant.
    most = 5 if trainer == "KeepsGraphs" else 1.2
    assert kib * KIB <= found.bytes_per_step <= most * kib * KIB + 1024
    assert found.confidence > 0.9999
    assert f"{found.bytes_per_step:,} bytes" in out


@pytest.mark.parametrize(
    ("trainer", "gauge"), [("KeepsFloats", "blocks"), ("KeepsSeldom", "heap_bytes")]
)
def test_a_leak_of_small_objects_or_of_seldom_steps_is_found(folder, bars_file, trainer, gauge):
    code, _, err = leak(folder, f"leaky_trainers:{trainer}", bars_file, "--budget=4 GiB")
    assert code == 1, err
    found = saved(folder).verdict
    assert trend(saved(folder), gauge).rises
    assert 2_000 < found.bytes_per_step < 6_000
    assert found.seconds_to_budget > 0
    assert found.bytes_per_day == found.bytes_per_step * 86_400 * 10**9 // found.step_wall_ns


@pytest.mark.parametrize("trainer", ["Clean", "MakesCycles", "StepsOnce"])
def test_what_is_no_leak_is_clean(folder, bars_file, trainer):
    code, out, err = leak(folder, f"leaky_trainers:{trainer}", bars_file, "--json=clean.json")
    assert code == 0, out + err
    found = saved(folder)
    assert found.verdict.verdict == "clean"
    assert found.verdict.n_readings == 400
    assert trend(found, "heap_bytes").slope.value < 512
    assert json.loads((folder / "clean.json").read_text())["verdict"]["verdict"] == "clean"


def test_memory_that_malloc_keeps_is_fragmentation_and_no_failure(folder, bars_file):
    code, out, err = leak(folder, "leaky_trainers:Fragments", bars_file)
    assert code == 0, out + err
    found = saved(folder)
    assert found.verdict.verdict == "fragmentation"
    assert not trend(found, "heap_bytes").rises
    assert "malloc keeps what was freed" in out


def test_memory_that_is_mapped_past_malloc_is_suspect(folder, bars_file):
    code, out, _ = leak(folder, "leaky_trainers:Maps", bars_file, "--set=kib=256")
    assert code == 3, out
    found = saved(folder).verdict
    assert found.verdict == "suspect"
    assert found.bytes_per_step == pytest.approx(256 * KIB, rel=0.2)


#: A small configuration of each model: the real code in a second or two.
TINY = {
    "dqn": ["hidden=64,32", "capacity=600", "warmup=600", "batch=64"],
    "ppo": ["hidden=32,16", "n_steps=64", "minibatch=32", "epochs=2"],
    "mamba2": ["d_model=32", "layers=1", "seq_len=64", "batch=4"],
    "tft": ["d_model=16", "heads=2", "batch=8", "encoder=20", "decoder=5"],
}


@pytest.mark.parametrize("model", TINY)
def test_each_model_is_clean(folder, bars_file, model):
    settings = [f"--set={text}" for text in TINY[model]]
    code, out, err = leak(folder, model, bars_file, "--steps=100", *settings)
    assert code == 0, out + err
    assert saved(folder).verdict.verdict in ("clean", "fragmentation")
    assert saved(folder).config is not None


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
