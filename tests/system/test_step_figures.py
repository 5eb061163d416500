"""The suite's own figures: they repeat over processes, and they move by what was planted."""

from __future__ import annotations

import statistics

import pytest
from suite_processes import MODELS, Suite

MIB = 1 << 20
KIB = 1 << 10
PROCESSES = 5


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return Suite.copy(tmp_path_factory.mktemp("suite"), planted_bytes=MIB)


@pytest.fixture(scope="module", params=MODELS)
def figures(request, suite):
    """Step peaks of the model as it is and with the plant, process by process in turn."""
    plain, planted = [], []
    for _ in range(PROCESSES):
        plain.append(suite.measure(f"training.{request.param}.steppeak_step"))
        planted.append(suite.measure(f"training.{request.param}Planted.steppeak_step"))
    print(request.param, "plain", plain, "planted", planted)
    return plain, planted


def test_a_step_peak_repeats_over_fresh_processes(figures):
    plain, _ = figures
    allowed = max(0.01 * statistics.median(plain), 512 * KIB)
    assert max(plain) - min(plain) <= allowed, plain


def test_a_mebibyte_planted_in_a_step_moves_its_peak_by_a_mebibyte(figures):
    plain, planted = figures
    moved = statistics.median(planted) - statistics.median(plain)
    assert abs(moved - MIB) <= 256 * KIB, (plain, planted)
