"""Device memory through NVIDIA's real bindings, over a library of ours that plays every trap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "fake_nvml" / "nvml.c"
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
def plain(value):
    return value.tolist() if hasattr(value, "tolist") else dataclasses.asdict(value)
def report(value):
    print(json.dumps(value, default=plain))
"""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of libnvidia-ml.so.1 as drivers of these versions have it."""
    built = {}
    for version in ("550", "460", "440"):
        folder = tmp_path_factory.mktemp(version)
        flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-fvisibility=hidden"]
        warnings = ["-Wall", "-Wextra", "-Werror", f"-DDRIVER={version}"]
        target = folder / "libnvidia-ml.so.1"
        command = ["cc", *flags, *warnings, "-shared", "-fPIC", "-o", str(target), str(SOURCE)]
        subprocess.run(command, check=True)
        built[version] = folder
    return built


@pytest.fixture
def run(libraries: dict[str, Path], tmp_path: Path):
    def in_world(world: str, body: str, driver: str = "550", **env: str) -> Any:
        """What a script reports in a process that finds the library in this state."""
        path = tmp_path / "world"
        path.write_text(world)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "FOXBENCH_"))}
        where = {"FAKE_NVML": str(path), "PYTHONPATH": str(ROOT)}
        if driver:
            where["LD_LIBRARY_PATH"] = str(libraries[driver])
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + body],
            env={**clean, **where, **env},
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return in_world


MEASURE = """
with foxbench.measure(device=True) as m:
    time.sleep({seconds})
report([m.result.device, m.result.warnings])
"""


def test_the_device_is_named_by_uuid_with_its_driver(run) -> None:
    found = run(ONE, "report(probe())")
    assert (found["ok"], found["driver"]) == (True, "550.54")
    (device,) = found["devices"]
    assert (device["uuid"], device["name"], device["total_bytes"]) == (
        "GPU-aaaa",
        "H200",
        80 * GIB,
    )


def test_a_rise_between_begin_and_end_is_the_peak_of_the_device(run) -> None:
    body = f"""
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    time.sleep(0.1)
    world(before.replace("{2 * GIB}", "{9 * GIB}"))
    time.sleep(0.1)
    world(before.replace("{2 * GIB}", "{3 * GIB}"))
    time.sleep(0.1)
report([m.result.device, m.result.warnings])
"""
    measured, warnings = run(ONE, body)
    (one,) = measured["devices"]
    assert (measured["status"], one["status"], one["scope"]) == ("ok", "ok", "device")
    assert one["used_begin_bytes"] == 2 * GIB
    assert one["used_peak_bytes"] == one["peak_bytes"] == 9 * GIB
    assert one["used_end_bytes"] == 3 * GIB
    assert 10 <= one["n_samples"] <= 35  # 100 Hz at most
    assert any("whole device's" in warning for warning in warnings)


def test_our_own_share_is_told_where_the_driver_lists_us(run) -> None:
    body = "world(open(world_path).read() + f'process 1 5\\nprocess {os.getpid()} 4096\\n')\n"
    measured, warnings = run(ONE, body + MEASURE.format(seconds=0.05))
    (one,) = measured["devices"]
    assert (one["scope"], one["peak_bytes"], one["used_peak_bytes"]) == ("process", 4096, 2 * GIB)
    assert not any("device" in warning for warning in warnings)


@pytest.mark.parametrize(
    "processes",
    [
        "process 1 5\n",  # a container: NVML lists the host's pids
        "processes 3\n",  # not supported
        "processes 4\n",  # no permission
        "",  # nobody
    ],
)
def test_without_our_own_share_the_figure_says_it_is_the_devices(run, processes: str) -> None:
    measured, _ = run(ONE + processes, MEASURE.format(seconds=0.05))
    (one,) = measured["devices"]
    assert (one["scope"], one["peak_bytes"]) == ("device", 2 * GIB)


def test_a_share_that_is_not_available_is_none_and_not_zero_nor_huge(run) -> None:
    body = "world(open(world_path).read() + f'process {os.getpid()} -1\\n')\n"
    measured, _ = run(ONE, body + MEASURE.format(seconds=0.05))
    (one,) = measured["devices"]
    assert (one["scope"], one["peak_bytes"]) == ("device", 2 * GIB)


def test_two_devices_are_measured_each_for_itself(run) -> None:
    measured, _ = run(TWO, MEASURE.format(seconds=0.05))
    assert [one["device"]["uuid"] for one in measured["devices"]] == ["GPU-aaaa", "GPU-bbbb"]
    assert [one["used_peak_bytes"] for one in measured["devices"]] == [2 * GIB, GIB]


@pytest.mark.parametrize(
    ("env", "uuids"),
    [
        ({"CUDA_VISIBLE_DEVICES": "GPU-bb"}, ["GPU-bbbb"]),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["GPU-bbbb"]),
        # CUDA's own order is not NVML's, and the two differ: which is meant cannot be told.
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["GPU-aaaa", "GPU-bbbb"]),
    ],
)
def test_devices_are_chosen_as_cuda_chooses_them(run, env: dict[str, str], uuids) -> None:
    found = run(TWO, "report(probe())", **env)
    assert [device["uuid"] for device in found["devices"]] == uuids


@pytest.mark.parametrize("value", ["", "-1", "GPU-none"])
def test_no_visible_device_is_not_measured_and_names_the_variable(run, value: str) -> None:
    measured, warnings = run(TWO, MEASURE.format(seconds=0.02), CUDA_VISIBLE_DEVICES=value)
    assert (measured["status"], measured["devices"]) == ("not_measured", [])
    assert "CUDA_VISIBLE_DEVICES" in measured["remedy"]
    assert any("CUDA_VISIBLE_DEVICES" in warning for warning in warnings)


def test_of_a_device_split_by_mig_the_instances_are_measured(run) -> None:
    world = ONE + f"mig MIG-1 H200-1g {10 * GIB} 100\nmig MIG-2 H200-2g {20 * GIB} 200\n"
    measured, _ = run(world, MEASURE.format(seconds=0.05))
    assert [one["device"]["uuid"] for one in measured["devices"]] == ["MIG-1", "MIG-2"]
    assert [one["used_peak_bytes"] for one in measured["devices"]] == [100, 200]
    found = run(world, "report(probe())", CUDA_VISIBLE_DEVICES="MIG-2")
    assert [device["uuid"] for device in found["devices"]] == ["MIG-2"]


def test_a_device_lost_in_the_middle_keeps_its_figures_and_the_other_goes_on(run) -> None:
    body = f"""
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    time.sleep(0.1)
    world(before.replace("{2 * GIB}\\n", "{2 * GIB} lost\\n"))
    time.sleep(0.1)
    world(before.replace("{2 * GIB}\\n", "{2 * GIB} lost\\n").replace(" {GIB}\\n", " {5 * GIB}\\n"))
    time.sleep(0.1)
report([m.result.device, m.result.warnings])
"""
    measured, warnings = run(TWO, body)
    lost, other = measured["devices"]
    assert (lost["status"], lost["used_peak_bytes"]) == ("lost", 2 * GIB)
    assert "fell off the bus" in lost["reason"]
    assert (other["status"], other["used_peak_bytes"]) == ("ok", 5 * GIB)
    assert any("until then" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("driver", "scope", "peak_bytes"), [("440", "device", 2 * GIB + 7), ("460", "process", 4096)]
)
def test_an_old_driver_gives_what_it_can(run, driver: str, scope: str, peak_bytes: int) -> None:
    body = "world(open(world_path).read() + f'process {os.getpid()} 4096\\n')\n"
    measured, _ = run(ONE, body + MEASURE.format(seconds=0.05), driver=driver)
    (one,) = measured["devices"]
    assert (one["status"], one["scope"], one["peak_bytes"]) == ("ok", scope, peak_bytes)
    # Version 1 counts the reserved bytes (7 here) as used.
    assert one["used_peak_bytes"] == 2 * GIB + 7


@pytest.mark.parametrize(
    ("code", "word"),
    [(9, "driver is not loaded"), (4, "no permission"), (18, "different versions"), (999, "NVML")],
)
def test_a_library_that_refuses_is_not_measured_and_says_why(run, code: int, word: str) -> None:
    measured, warnings = run(f"init {code}\n", MEASURE.format(seconds=0.02))
    assert (measured["status"], measured["devices"]) == ("not_measured", [])
    assert word in measured["reason"]
    assert any(word in warning for warning in warnings)


def test_without_a_library_the_host_is_measured_and_the_device_is_not(run) -> None:
    body = """
with foxbench.measure(device=True) as m:
    x = bytearray(b"x") * (32 << 20)
report([m.result.device, m.result.whole.step_peak_bytes, m.result.warnings])
"""
    measured, step_peak_bytes, _ = run("", body, driver="")
    assert measured["status"] == "not_measured"
    assert "libnvidia-ml.so.1" in measured["reason"]
    assert step_peak_bytes >= 31 << 20


def test_a_measurement_that_was_not_asked_for_devices_loads_no_bindings(run) -> None:
    body = """
with foxbench.measure() as m:
    pass
report([m.result.device, "pynvml" in sys.modules])
"""
    assert run(ONE, body) == [None, False]


def test_the_thread_ends_with_the_block_and_a_fork_in_it_hangs_nothing(run) -> None:
    body = """
import threading
with foxbench.measure(device=True) as m:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
report([t.name for t in threading.enumerate()])
"""
    assert run(ONE, body) == ["MainThread"]
