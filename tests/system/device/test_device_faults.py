"""Every way in which NVML fails: the figures until then, a reason and a remedy, no crash."""

from __future__ import annotations

import pytest
from device_worlds import GIB, MEASURE, ONE, TWO


def test_a_device_lost_in_the_middle_keeps_its_figures_and_the_other_goes_on(run) -> None:
    body = f"""
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    readings(m)
    world(before.replace("{2 * GIB}\\n", "{2 * GIB} lost\\n"))
    readings(m)
    world(before.replace("{2 * GIB}\\n", "{2 * GIB} lost\\n").replace(" {GIB}\\n", " {5 * GIB}\\n"))
    readings(m)
report([m.result.device, m.result.warnings])
"""
    measured, warnings = run(TWO, body)
    lost, other = measured["devices"]
    assert (lost["status"], lost["used_peak_bytes"]) == ("lost", 2 * GIB)
    assert "fell off the bus" in lost["reason"]
    assert (other["status"], other["used_peak_bytes"]) == ("ok", 5 * GIB)
    assert any("until then" in warning for warning in warnings)


def test_a_device_that_was_lost_before_the_block_does_not_hide_the_other(run) -> None:
    world = TWO.replace(f"{2 * GIB}\n", f"{2 * GIB} lost\n")
    (measured, warnings), found = run(
        world,
        MEASURE.replace("report([", "report([[").replace("warnings])", "warnings], probe()])"),
    )
    lost, other = measured["devices"]
    assert (lost["status"], lost["device"]["uuid"], lost["peak_bytes"]) == (
        "not_measured",
        None,
        None,
    )
    assert (other["status"], other["used_peak_bytes"]) == ("ok", GIB)
    assert any("device 0 was not measured" in warning for warning in warnings)
    assert (found["ok"], len(found["devices"])) == (True, 1)
    assert "device 0: the device fell off the bus" in found["reason"]
    assert "--gpu-reset" in found["remedy"]


def test_devices_that_a_job_may_not_use_are_left_out(run) -> None:
    # A job's cgroup: NVML counts the first, and refuses it; CUDA's number 0 is the second.
    world = ONE + f"open 4\ngpu GPU-bbbb A100 {40 * GIB} {1 * GIB}\n"
    where = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    found = run(world, "report(probe())", **where)
    assert [device["uuid"] for device in found["devices"]] == ["GPU-bbbb"]
    found = run(ONE + "open 4\n", "report(probe())")
    assert (found["ok"], found["driver"]) == (False, "550.54")
    assert "no permission" in found["reason"]


def test_a_device_that_does_not_tell_is_not_measured_and_never_called_lost(run) -> None:
    measured, warnings = run(ONE + "memory 3\n", MEASURE)
    (one,) = measured["devices"]
    assert (one["status"], one["peak_bytes"], one["timeline"]) == ("not_measured", None, None)
    assert one["n_errors"] == 1  # it is not asked again
    assert any("was not measured: this device does not tell" in text for text in warnings)
    assert not any("reset" in warning for warning in warnings)


def test_a_reading_that_fails_for_once_is_counted_and_not_the_end(run) -> None:
    body = """
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    world(before + "memory 999\\n")
    readings(m)
    world(before)
    readings(m)
report([m.result.device, m.result.warnings])
"""
    measured, _ = run(ONE, body)
    (one,) = measured["devices"]
    assert (one["status"], one["reason"]) == ("ok", "")
    assert one["n_errors"] >= 1
    assert one["n_samples"] >= 3


@pytest.mark.parametrize(
    ("driver", "scope", "peak_bytes"), [("440", "device", 2 * GIB + 7), ("460", "process", 4096)]
)
def test_an_old_driver_gives_what_it_can(run, driver: str, scope: str, peak_bytes: int) -> None:
    body = "world(open(world_path).read() + f'process {os.getpid()} 4096\\n')\n"
    measured, _ = run(ONE, body + MEASURE, driver=driver)
    (one,) = measured["devices"]
    assert (one["status"], one["scope"], one["peak_bytes"]) == ("ok", scope, peak_bytes)
    # Version 1 counts the reserved bytes (7 here) as used.
    assert one["used_peak_bytes"] == 2 * GIB + 7


@pytest.mark.parametrize(
    ("code", "word"),
    [(9, "driver is not loaded"), (4, "no permission"), (18, "different versions"), (999, "NVML")],
)
def test_a_library_that_refuses_is_not_measured_and_says_why(run, code: int, word: str) -> None:
    measured, warnings = run(f"init {code}\n", MEASURE)
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
