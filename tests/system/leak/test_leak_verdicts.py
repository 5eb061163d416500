"""Real training processes that leak nothing: clean, fragmentation or suspect."""

import json

import pytest
from leak_runs import leaks, saved, trend

KIB = 1024

#: Held for a while, garbage that waits for a collection, and a single rise.
NO_LEAKS = ("Clean", "MakesCycles", "StepsOnce")

#: A small configuration of each model: the real code in a second or two.
TINY = {
    "dqn": ["hidden=64,32", "capacity=600", "warmup=600", "batch=64"],
    "ppo": ["hidden=32,16", "n_steps=64", "minibatch=32", "epochs=2"],
    "mamba2": ["d_model=32", "layers=1", "seq_len=64", "batch=4"],
    "tft": ["d_model=16", "heads=2", "batch=8", "encoder=20", "decoder=5"],
}


@pytest.fixture(scope="module")
def ran(make_folder, bars_file):
    jobs = {
        name: [f"leaky_trainers:{name}", bars_file, "--json=clean.json"]
        for name in (*NO_LEAKS, "Fragments")
    }
    jobs["Maps"] = ["leaky_trainers:Maps", bars_file, "--set=kib=256"]
    for model, settings in TINY.items():
        jobs[model] = [model, bars_file, "--steps=100", *(f"--set={text}" for text in settings)]
    return leaks({name: (make_folder(), arguments) for name, arguments in jobs.items()})


@pytest.mark.parametrize("name", NO_LEAKS)
def test_what_is_no_leak_is_clean(ran, name):
    run = ran[name]
    assert run.code == 0, run.out + run.err
    found = saved(run.folder)
    assert found.verdict.verdict == "clean"
    assert found.verdict.n_readings == 400
    assert trend(found, "heap_bytes").slope.value < 512
    stored = json.loads((run.folder / "clean.json").read_text())
    assert stored["verdict"]["verdict"] == "clean"


def test_memory_that_malloc_keeps_is_fragmentation_and_no_failure(ran):
    run = ran["Fragments"]
    assert run.code == 0, run.out + run.err
    found = saved(run.folder)
    assert found.verdict.verdict == "fragmentation"
    assert not trend(found, "heap_bytes").rises
    assert "malloc keeps what was freed" in run.out


def test_memory_that_is_mapped_past_malloc_is_suspect(ran):
    run = ran["Maps"]
    assert run.code == 3, run.out
    found = saved(run.folder).verdict
    assert found.verdict == "suspect"
    assert found.bytes_per_step == pytest.approx(256 * KIB, rel=0.2)


@pytest.mark.parametrize("model", TINY)
def test_each_model_is_clean(ran, model):
    run = ran[model]
    assert run.code == 0, run.out + run.err
    assert saved(run.folder).verdict.verdict in ("clean", "fragmentation")
    assert saved(run.folder).config is not None
