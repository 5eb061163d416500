"""Worlds of the fake NVML, in its own words, and the script that measures in them."""

GIB = 1 << 30

ONE = f"driver 550.54\ngpu GPU-aaaa H200 {80 * GIB} {2 * GIB}\n"
TWO = ONE + f"gpu GPU-bbbb A100 {40 * GIB} {1 * GIB}\n"

PRELUDE = """
import dataclasses, json, os, sys, time
import foxbench
from foxbench.sampler.device.probe import probe
world_path = os.environ["FAKE_NVML"]
def world(text):
    with open(world_path + ".new", "w") as file:
        file.write(text)
    os.replace(world_path + ".new", world_path)
def readings(m, n=2):
    # Wait until every device that still answers was asked n times more.
    watched = m._device._watched
    asked = [one.n_samples + one.n_errors + n for one in watched]
    while any(
        one.n_samples + one.n_errors < goal and not one.given_up
        for one, goal in zip(watched, asked)
    ):
        time.sleep(0.002)
def plain(value):
    return value.tolist() if hasattr(value, "tolist") else dataclasses.asdict(value)
def report(value):
    print(json.dumps(value, default=plain))
"""

MEASURE = """
with foxbench.measure(device=True) as m:
    readings(m)
report([m.result.device, m.result.warnings])
"""
