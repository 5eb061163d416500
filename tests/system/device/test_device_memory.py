"""What is measured of which device, and whose it is said to be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from device_worlds import GIB, MEASURE, ONE, TWO


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
    readings(m)
    world(before.replace("{2 * GIB}", "{9 * GIB}"))
    readings(m)
    world(before.replace("{2 * GIB}", "{3 * GIB}"))
    readings(m)
whole = m.result.whole
report([m.result.device, m.result.warnings, (whole.end_ns - whole.begin_ns) / 1e9])
"""
    measured, warnings, seconds = run(ONE, body)
    (one,) = measured["devices"]
    assert (measured["status"], one["status"], one["scope"]) == ("ok", "ok", "device")
    assert one["used_begin_bytes"] == 2 * GIB
    assert one["used_peak_bytes"] == one["peak_bytes"] == 9 * GIB
    assert one["used_end_bytes"] == 3 * GIB
    assert one["n_samples"] <= 2 + seconds * 100  # 100 Hz at most, and one at either end
    assert any("whole device's" in warning for warning in warnings)


def test_our_own_share_is_told_where_the_driver_lists_us(run) -> None:
    body = "world(open(world_path).read() + f'process 1 5\\nprocess {os.getpid()} 4096\\n')\n"
    measured, warnings = run(ONE, body + MEASURE)
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
    measured, _ = run(ONE + processes, MEASURE)
    (one,) = measured["devices"]
    assert (one["scope"], one["peak_bytes"]) == ("device", 2 * GIB)


def test_a_share_that_is_not_available_is_none_and_not_zero_nor_huge(run) -> None:
    body = "world(open(world_path).read() + f'process {os.getpid()} -1\\n')\n"
    measured, _ = run(ONE, body + MEASURE)
    (one,) = measured["devices"]
    assert (one["scope"], one["peak_bytes"]) == ("device", 2 * GIB)


def test_two_devices_are_measured_each_for_itself(run) -> None:
    measured, _ = run(TWO, MEASURE)
    assert [one["device"]["uuid"] for one in measured["devices"]] == ["GPU-aaaa", "GPU-bbbb"]
    assert [one["used_peak_bytes"] for one in measured["devices"]] == [2 * GIB, GIB]


@pytest.mark.parametrize(
    ("env", "uuids"),
    [
        ({"CUDA_VISIBLE_DEVICES": "GPU-bb"}, ["GPU-bbbb"]),
        # CUDA stops at the first that does not exist.
        ({"CUDA_VISIBLE_DEVICES": "GPU-bb,GPU-none,GPU-aa"}, ["GPU-bbbb"]),
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
    measured, warnings = run(TWO, MEASURE, CUDA_VISIBLE_DEVICES=value)
    assert (measured["status"], measured["devices"]) == ("not_measured", [])
    assert "CUDA_VISIBLE_DEVICES" in measured["remedy"]
    assert any("CUDA_VISIBLE_DEVICES" in warning for warning in warnings)


def test_of_a_device_split_by_mig_the_instances_are_measured(run) -> None:
    world = ONE + f"mig MIG-1 H200-1g {10 * GIB} 100\nmig MIG-2 H200-2g {20 * GIB} 200\n"
    measured, _ = run(world, MEASURE)
    assert [one["device"]["uuid"] for one in measured["devices"]] == ["MIG-1", "MIG-2"]
    assert [one["used_peak_bytes"] for one in measured["devices"]] == [100, 200]
    found = run(world, "report(probe())", CUDA_VISIBLE_DEVICES="MIG-2")
    assert [device["uuid"] for device in found["devices"]] == ["MIG-2"]


def test_pids_of_the_hosts_that_happen_to_be_ours_are_not_believed(run, tmp_path: Path) -> None:
    namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
        pytest.skip("no new pid namespace may be made here")
    others = 4_000_000  # of the host: no such process in the namespace
    body = """
world(open(world_path).read() + f'process {os.getpid()} 4096\\n')
with foxbench.measure(device=True) as listed:
    pass
world(open(world_path).read() + 'process OTHERS 5\\n')
with foxbench.measure(device=True) as strange:
    pass
report([listed.result.device, strange.result.device])
""".replace("OTHERS", str(others))
    listed, strange = run(ONE, body, before=namespace)
    assert (listed["devices"][0]["scope"], listed["devices"][0]["peak_bytes"]) == ("process", 4096)
    assert (strange["devices"][0]["scope"], strange["devices"][0]["peak_bytes"]) == (
        "device",
        2 * GIB,
    )


def test_the_step_is_the_peak_above_the_begin_in_the_same_scope(run) -> None:
    body = f"""
before = open(world_path).read()
ours = f"process {{os.getpid()}} "
world(before + ours + "1000\\n")
with foxbench.measure(device=True) as process:
    world(before.replace("{2 * GIB}", "{9 * GIB}") + ours + "5000\\n")
world(before)
with foxbench.measure(device=True) as device:
    world(before.replace("{2 * GIB}", "{9 * GIB}"))
report([m.result.device.devices[0].step_peak_bytes for m in (process, device)])
"""
    assert run(ONE, body) == [4000, 7 * GIB]


def test_the_timeline_keeps_the_maximum_and_names_its_phase(run) -> None:
    body = f"""
from foxbench.sampler import timeline_file
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    with m.phase("load"):
        readings(m)
    with m.phase("step"):
        world(before.replace("{2 * GIB}", "{9 * GIB}"))
        readings(m)
(made,) = timeline_file.device_tables(m.result).values()
rows = made.to_pylist()
top = max(rows, key=lambda row: row["max_bytes"])
report([
    m.result.device, top, sum(row["count"] for row in rows),
    sorted({{row["phase"] for row in rows if row["phase"]}}),
    made.schema.metadata[b"foxbench.source"].decode(),
    made.schema.metadata[b"foxbench.device"].decode(),
])
"""
    measured, top, count, phases, source, uuid = run(ONE, body)
    assert (top["max_bytes"], top["phase"]) == (9 * GIB, "step")
    assert count == measured["devices"][0]["n_samples"]
    assert phases == ["load", "step"]
    assert (source, uuid) == ("device", "GPU-aaaa")
