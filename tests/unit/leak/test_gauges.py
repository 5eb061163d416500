"""The gauges of this very process, and of one under another allocator's eyes."""

import ctypes
import gc
import json
import subprocess
import sys

import pytest

from foxbench.profile.gauges import Gauges

MIB = 2**20
KEYS = {"heap_bytes", "held_bytes", "blocks", "rss_bytes", "device_bytes"}


def glibc_since_2_33():
    return hasattr(ctypes.CDLL(None), "mallinfo2")


needs_mallinfo2 = pytest.mark.skipif(not glibc_since_2_33(), reason="no mallinfo2 in this libc")

ISOLATED = """
import gc, json
from foxbench.profile.gauges import Gauges
gauges = Gauges()
gauges.prepare()
"""


def in_a_process_of_its_own(body):
    done = subprocess.run(
        [sys.executable, "-c", ISOLATED + body], capture_output=True, text=True, check=True
    )
    return done.stdout


@needs_mallinfo2
@pytest.mark.parametrize("n_bytes", [4 * 1024, 100 * 1024, 16 * MIB])
def test_the_heap_rises_by_what_is_allocated_and_falls_when_it_is_freed(n_bytes):
    gauges = Gauges()
    before = gauges.read()["heap_bytes"]
    kept = bytearray(n_bytes)
    risen = gauges.read()["heap_bytes"] - before
    assert n_bytes <= risen < n_bytes + 64 * 1024
    del kept
    assert abs(gauges.read()["heap_bytes"] - before) < 64 * 1024


@needs_mallinfo2
def test_malloc_holds_at_least_what_is_in_use():
    found = Gauges().read()
    assert 0 < found["heap_bytes"] <= found["held_bytes"]


def test_small_objects_of_python_show_in_the_blocks():
    gauges = Gauges()
    before = gauges.read()["blocks"]
    kept = [float(i) for i in range(10_000)]
    assert gauges.read()["blocks"] - before == pytest.approx(len(kept), abs=500)


def test_a_reading_has_every_gauge_and_none_for_a_device_that_is_not_used():
    found = Gauges().read()
    assert set(found) == KEYS
    assert found["rss_bytes"] > MIB
    if "torch" not in sys.modules:
        assert found["device_bytes"] is None


def test_a_thousand_readings_leave_nothing_behind():
    text = in_a_process_of_its_own("""
for _ in range(50):
    first = gauges.read()
for _ in range(1000):
    last = gauges.read()
print(json.dumps([first, last]))
""")
    first, last = json.loads(text)
    assert last["heap_bytes"] == first["heap_bytes"]
    assert abs(last["blocks"] - first["blocks"]) < 100  # 0.1 a reading


def test_prepare_takes_collection_over_and_a_reading_collects():
    text = in_a_process_of_its_own("""
class Node:
    died = 0
    def __del__(self):
        Node.died += 1
def cycle():
    node = Node()
    node.me = node
print(gc.isenabled(), gc.get_freeze_count() > 1000)
cycle()
print(Node.died)
gauges.read()
print(Node.died)
""")
    assert text.split() == ["False", "True", "0", "1"]


def test_older_garbage_goes_at_the_latest_with_the_tenth_reading():
    text = in_a_process_of_its_own("""
import weakref
class Node: pass
node = Node()
node.me = node
seen = weakref.ref(node)
gauges.read()
gauges.read()
del node
alive = [seen() is not None and bool(gauges.read()) for _ in range(12)]
print(seen() is None)
""")
    assert text.split() == ["True"]


def test_a_gauge_that_does_not_see_an_allocation_is_not_believed():
    # What a preloaded allocator does to glibc's own figures: they stand still.
    text = in_a_process_of_its_own("""
from foxbench.profile import gauges as module
module._glibc = lambda libc: (1, 1)
blind = module.Gauges().read()
print(blind["heap_bytes"], blind["held_bytes"], blind["blocks"] > 0)
""")
    assert text.split() == ["None", "None", "True"]


def test_collection_in_this_process_stays_as_it_was():
    was = gc.isenabled()
    Gauges().read()
    assert gc.isenabled() == was
