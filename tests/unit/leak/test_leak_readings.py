import numpy as np
import pytest
from leak_readings import MIB, STEPS, records

from foxbench.leak import readings
from foxbench.leak.rule import BLOCKS
from foxbench.sampler import timeline_file
from foxbench.sampler.result import Timeline

SECOND_NS = 10**9


def test_the_log_of_a_training_becomes_series_by_step():
    found = readings.from_log(records(heap_bytes=4096 * STEPS))
    assert found.steps.tolist() == STEPS.tolist()
    assert found.series["heap_bytes"].tolist() == (4096 * STEPS).tolist()
    assert found.step_wall_ns == 10_000_000


def test_a_gauge_that_is_not_there_is_no_series():
    assert "device_bytes" not in readings.from_log(records()).series
    assert "heap_bytes" not in readings.from_log(records(heap_bytes=None)).series


def test_a_gauge_that_goes_away_is_no_series():
    log = list(records())
    log[-1]["heap_bytes"] = None
    assert "heap_bytes" not in readings.from_log(log).series


def test_a_device_that_the_first_step_starts_to_use_is_a_series():
    log = list(records(device_bytes=MIB * STEPS))
    log[1]["device_bytes"] = None
    found = readings.from_log(log).series["device_bytes"]
    assert found[:3].tolist() == [2 * MIB, 2 * MIB, 3 * MIB]


def test_the_wall_time_of_a_step_leaves_the_warm_up_out():
    log = list(records())
    log[0]["wall_ns"] = 10**12
    assert readings.from_log(log).step_wall_ns == 10_000_000


def test_an_empty_log_has_no_readings():
    found = readings.from_log([])
    assert len(found.steps) == 0
    assert found.series == {}
    assert found.step_wall_ns is None


def timeline(first_s, low, last=None):
    """A table of buckets that begin at ``first_s``."""
    first = (np.asarray(first_s) * SECOND_NS).astype(np.int64)
    low = np.asarray(low, dtype=np.int64)
    last = low if last is None else np.asarray(last, dtype=np.int64)
    count = np.ones_like(low)
    return timeline_file.table(Timeline(first, first, low, low, last, count), begin_ns=0)


def test_equal_times_of_a_command_hold_their_least_sample():
    at = np.arange(0, 100.01, 0.1)
    found = readings.from_timeline(timeline(at, MIB * (at + 1)))
    assert found.seconds == pytest.approx(100)
    assert found.n_samples == len(at)
    assert len(found.minima_bytes) == len(found.centres_s) == BLOCKS
    assert found.centres_s[0] == pytest.approx(25 + 75 / BLOCKS / 2)
    begins = found.centres_s - 75 / BLOCKS / 2
    assert found.minima_bytes == pytest.approx(MIB * (begins + 1), abs=0.11 * MIB)


def test_between_two_changes_the_last_value_goes_on():
    found = readings.from_timeline(timeline([0, 50, 100], [MIB, 5 * MIB, 9 * MIB]))
    assert found.minima_bytes[0] == MIB
    assert found.minima_bytes[-1] == 5 * MIB
    assert set(found.minima_bytes) == {MIB, 5 * MIB}


def test_a_short_fall_is_the_minimum_of_its_time():
    at = np.arange(0, 100.01, 0.1)
    low = np.full(len(at), 10 * MIB)
    low[700] = MIB
    found = readings.from_timeline(timeline(at, low))
    assert sorted(found.minima_bytes)[:2] == [MIB, 10 * MIB]


def test_an_empty_timeline_is_nothing():
    assert readings.from_timeline(timeline([], [])) is None


def test_what_a_command_gives_back_while_it_leaves_does_not_count():
    at = np.arange(0, 100.01, 0.1)
    low = MIB * (at + 1)
    low[-60:] = np.linspace(90 * MIB, 2 * MIB, 60)  # longer than a block
    low[-20:] = 2 * MIB  # a parent stays a little longer
    found = readings.from_timeline(timeline(at, low))
    assert found.seconds == pytest.approx(100)
    assert np.all(np.diff(found.minima_bytes) > 0)
    assert found.last_bytes == pytest.approx(94 * MIB, rel=0.05)


def test_a_command_that_falls_for_long_is_followed_to_its_end():
    at = np.arange(0, 100.01, 0.1)
    found = readings.from_timeline(timeline(at, MIB * (200 - at)))
    assert found.last_bytes == pytest.approx(100 * MIB, rel=0.01)
