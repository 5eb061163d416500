"""Starts ``foxbench profile`` as users do, and reads what it left behind."""

import os
import time
from pathlib import Path

import cli_process

from foxbench.profile import result

ROOT = Path(__file__).resolve().parents[3]
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


def environment(**changes):
    return {**os.environ, "PYTHONPATH": PYTHONPATH, **changes}


def start(folder, *arguments, **options):
    return cli_process.start(folder, "profile", *arguments, **options)


def foxbench(folder, *arguments, **options):
    """Exit code, stdout and stderr."""
    return cli_process.foxbench(folder, "profile", *arguments, **options)


def saved(folder):
    """The one profile that the run left behind."""
    (directory,) = (folder / "foxbench-runs").iterdir()
    return result.read(directory / "profile.json")


def phases(profile):
    return [p.name for p in profile.phases]


BEFORE_STEPS = ["import", "load", "features", "build", "first_step"]


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
