import numpy as np
import pytest
from leak_readings import FLAT, MIB, STEPS, judged

from foxbench.leak import verdict
from foxbench.leak.readings import Followed
from foxbench.leak.rule import BLOCKS, MIN_READINGS

RISING = FLAT + 4096 * STEPS
DAY_S = 86_400


def test_where_nothing_moves_it_is_clean():
    found = judged(budget_bytes=400 * MIB)
    assert found.verdict == "clean"
    assert (found.gauge, found.bytes_per_step, found.bytes_per_day) == (None, None, None)
    assert found.seconds_to_budget is None
    assert {one.gauge for one in found.trends} == {"heap_bytes", "blocks", "rss_bytes"}


def test_a_rising_heap_is_a_leak_with_bytes_a_step_and_a_day():
    found = judged(heap_bytes=RISING)
    assert (found.verdict, found.gauge) == ("leak", "heap_bytes")
    assert found.bytes_per_step == 4096
    assert found.bytes_per_step_lower == pytest.approx(4096, rel=0.01)
    assert not found.at_least
    assert found.bytes_per_day == 4096 * DAY_S * 100  # 100 steps of 10 ms a second
    assert found.confidence > 0.9999


def test_the_time_to_the_budget_is_what_is_left_of_it_at_that_rate():
    found = judged(budget_bytes=300 * MIB + 4096 * 1000, heap_bytes=RISING)
    assert found.seconds_to_budget == pytest.approx(1000 / 100)
    assert judged(budget_bytes=MIB, heap_bytes=RISING).seconds_to_budget == 0
    assert judged(heap_bytes=RISING).seconds_to_budget is None


def test_blocks_of_python_alone_are_a_leak_of_at_least_their_least_size():
    found = judged(blocks=90_000 + 174 * STEPS)
    assert (found.verdict, found.gauge) == ("leak", "blocks")
    assert found.at_least
    assert found.bytes_per_step == 174 * 16


def test_heap_and_blocks_add_up():
    found = judged(heap_bytes=FLAT + 1360 * STEPS, blocks=90_000 + 174 * STEPS)
    assert (found.verdict, found.gauge) == ("leak", "heap_bytes")
    assert found.at_least
    assert found.bytes_per_step == 1360 + 174 * 16


def test_a_block_or_two_a_step_are_no_leak():
    assert judged(blocks=90_000 + 2 * STEPS).verdict == "clean"


def test_device_memory_that_rises_is_a_leak_and_is_held_against_the_budget():
    device = np.linspace(0, 99 * MIB, 100)
    found = judged(budget_bytes=199 * MIB, device_bytes=device)
    assert (found.verdict, found.gauge) == ("leak", "device_bytes")
    assert found.bytes_per_step == MIB
    assert found.seconds_to_budget == pytest.approx(1.0, rel=1e-6)


def test_a_resident_set_that_rises_over_what_malloc_keeps_is_fragmentation():
    grown = 32 * 1024 * STEPS
    found = judged(rss_bytes=FLAT + grown, held_bytes=110 * MIB + grown)
    assert (found.verdict, found.gauge) == ("fragmentation", "rss_bytes")
    assert found.bytes_per_step == 32 * 1024


def test_a_resident_set_that_rises_past_malloc_is_suspect():
    found = judged(rss_bytes=FLAT + 256 * 1024 * STEPS)
    assert (found.verdict, found.gauge) == ("suspect", "rss_bytes")
    assert "past malloc" in found.reason
    assert found.bytes_per_step == 256 * 1024


def test_less_than_a_page_a_step_of_the_resident_set_is_clean():
    assert judged(rss_bytes=FLAT + 3000 * STEPS).verdict == "clean"


def test_a_leak_is_a_leak_whatever_the_resident_set_does():
    assert judged(heap_bytes=RISING, rss_bytes=FLAT - 4096 * STEPS).verdict == "leak"


@pytest.mark.parametrize(
    ("bytes_per_step", "expected"), [(0, "clean"), (32_000, "clean"), (128_000, "suspect")]
)
def test_without_a_heap_gauge_the_resident_set_is_at_most_suspect(bytes_per_step, expected):
    found = judged(heap_bytes=None, held_bytes=None, rss_bytes=FLAT + bytes_per_step * STEPS)
    assert found.verdict == expected
    assert "cannot be read" in found.reason


def test_without_a_heap_gauge_blocks_still_prove_a_leak():
    found = judged(heap_bytes=None, held_bytes=None, blocks=90_000 + 174 * STEPS)
    assert found.verdict == "leak"


@pytest.mark.parametrize("n", [0, 1, MIN_READINGS - 1])
def test_too_few_steps_are_no_verdict(n):
    found = judged(n=n, heap_bytes=RISING)
    assert found.verdict == "not_measured"
    assert f"{n} steps were read" in found.reason
    assert found.n_readings == n
    assert found.trends == ()


def test_the_least_number_of_steps_is_enough():
    assert judged(n=MIN_READINGS, heap_bytes=RISING).verdict == "leak"


def test_no_gauge_at_all_is_no_verdict():
    found = judged(heap_bytes=None, held_bytes=None, blocks=None, rss_bytes=None)
    assert found.verdict == "not_measured"


def followed(minima_bytes, seconds=60.0, n=6000):
    centres = (np.arange(BLOCKS) + 0.5) * seconds * 0.75 / BLOCKS
    return Followed(seconds, n, centres, np.asarray(minima_bytes, float), int(minima_bytes[-1]))


def test_a_command_that_rises_is_suspect_and_never_a_leak():
    found = verdict.of_command(followed(50 * MIB + MIB * np.arange(BLOCKS)), 74 * MIB)
    assert found.verdict == "suspect"
    per_s = MIB / (60 * 0.75 / BLOCKS)
    assert found.bytes_per_day == pytest.approx(per_s * DAY_S, rel=1e-6)
    assert found.seconds_to_budget == pytest.approx(MIB / per_s, rel=1e-6)
    assert found.bytes_per_step is None


@pytest.mark.parametrize(
    "minima",
    [
        np.full(BLOCKS, 50 * MIB),
        50 * MIB + 100 * MIB * (np.arange(BLOCKS) > 11),  # one step
        100 * MIB - MIB * np.arange(BLOCKS),
    ],
)
def test_a_command_that_stands_steps_or_shrinks_is_clean(minima):
    found = verdict.of_command(followed(minima))
    assert found.verdict == "clean"
    assert "the resident set alone" in found.reason


@pytest.mark.parametrize(
    "seen", [None, followed([MIB] * BLOCKS, seconds=1.0), followed([MIB] * BLOCKS, n=10)]
)
def test_a_command_that_ended_at_once_is_no_verdict(seen):
    found = verdict.of_command(seen)
    assert found.verdict == "not_measured"
    assert "a verdict needs" in found.reason


def test_a_command_that_rises_by_too_little_is_told_to_run_longer():
    found = verdict.of_command(followed(50 * MIB + 64 * 1024 * np.arange(BLOCKS)))
    assert found.verdict == "clean"
    assert "run it longer" in found.reason
