"""Threads, forks and ends of a process that measures devices: nothing leaks, nothing hangs."""

from __future__ import annotations

from device_worlds import GIB, ONE


def test_a_driver_that_hangs_does_not_hang_the_block_and_lets_the_process_end(run) -> None:
    body = """
from foxbench.sampler.device import sampler
sampler.STOP_WAIT_S = 0.2
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    world(before + "hang 1000\\n")
    held = 0
    while held < 20:  # the thread is in it
        held = held + 1 if sampler._asking.locked() else 0
        time.sleep(0.005)
    pid = os.fork()  # nor does a fork wait for it
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
world(before)
with foxbench.measure(device=True) as after:
    pass
report([m.result.device, m.result.warnings, after.result.device])
"""
    measured, warnings, after = run(ONE, body)
    (one,) = measured["devices"]
    assert (one["status"], one["used_peak_bytes"]) == ("lost", 2 * GIB)
    assert "does not answer" in one["reason"]
    assert any("does not answer" in warning for warning in warnings)
    assert after["devices"][0]["status"] == "ok"


def test_many_blocks_open_nvml_once_and_leave_no_thread_and_no_descriptor(run) -> None:
    body = """
import threading, pynvml
def state():
    return [threading.active_count(), len(os.listdir("/proc/self/fd")), pynvml._nvmlLib_refcount]
with foxbench.measure(device=True) as m:
    pass
first = state()
for _ in range(200):
    with foxbench.measure(device=True) as m:
        pass
report([first, state()])
"""
    first, last = run(ONE, body)
    assert first == last
    assert first[2] == 1  # kept open for the next, and only once


def test_a_lost_device_is_found_again_by_the_next_block(run) -> None:
    body = f"""
import pynvml
before = open(world_path).read()
with foxbench.measure(device=True) as m:
    world(before.replace("{2 * GIB}\\n", "{2 * GIB} lost\\n"))
    readings(m)
closed = pynvml._nvmlLib_refcount
world(before)
with foxbench.measure(device=True) as after:
    pass
report([m.result.device.devices[0].status, closed, after.result.device.devices[0].status])
"""
    assert run(ONE, body) == ["lost", 0, "ok"]


def test_a_block_that_fails_leaves_no_thread(run) -> None:
    body = """
import threading
from foxbench.sampler import lowlevel
def fail(*_):
    raise MemoryError
whole, lowlevel.interval_begin = lowlevel.interval_begin, fail
try:
    with foxbench.measure(device=True):
        pass
except MemoryError:
    pass
lowlevel.interval_begin, lowlevel.interval_end = whole, fail
try:
    with foxbench.measure(device=True):
        pass
except MemoryError:
    pass
report([t.name for t in threading.enumerate()])
"""
    assert run(ONE, body) == ["MainThread"]


def test_the_interpreter_ends_inside_a_block(run) -> None:
    body = """
m = foxbench.measure(device=True)
m.__enter__()
readings(m)
report("ended")
"""
    assert run(ONE, body) == "ended"


def test_a_forked_child_measures_its_own_block(run) -> None:
    body = """
with foxbench.measure(device=True) as m:
    pid = os.fork()
    if pid == 0:
        with m:
            pass
        os._exit(0 if m.result.device.devices[0].status == "ok" else 1)
    _, status = os.waitpid(pid, 0)
report([os.waitstatus_to_exitcode(status), m.result.device.devices[0].status])
"""
    assert run(ONE, body) == [0, "ok"]


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


def test_a_child_forked_inside_a_block_has_nothing_of_its_parents_devices(run) -> None:
    body = """
with foxbench.measure(device=True) as m:
    pid = os.fork()
    if pid == 0:
        m.device = False
        with m:
            pass
        os._exit(0 if m.result.device is None else 1)
    _, status = os.waitpid(pid, 0)
report([os.waitstatus_to_exitcode(status), m.result.device.devices[0].status])
"""
    assert run(ONE, body) == [0, "ok"]
