"""Each warning appears when its reason does, and not otherwise."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from foxbench.sampler.handles import SamplerStats
from foxbench.sampler.notices import notices
from foxbench.sampler.result import Interval, Peak, Usage

PEAK = Peak(1_000_000, 10_000, "hwm", 1_000_000, 999_000)
WHOLE = Interval("block", 0, 0, 1, 900_000, 900_000, PEAK, Usage(*[0] * 8), None, None, None)
STATS = SamplerStats(
    n_samples=100,
    n_missed=2,
    n_errors=0,
    cpu_ns=1,
    self_bytes=1,
    max_bytes=999_000,
    first_errno=0,
    running=False,
)


def test_a_sound_measurement_has_no_warnings() -> None:
    assert notices(WHOLE, 0, STATS, ()) == ()


@pytest.mark.parametrize(
    ("peak", "hwm_errno", "stats", "open_phases", "expected"),
    [
        (PEAK, errno.EACCES, STATS, (), "Permission denied"),
        (PEAK, 0, replace(STATS, n_errors=3, first_errno=errno.EBADF), (), "3 samples failed"),
        (replace(PEAK, sampled_bytes=1_010_001), 0, STATS, (), "10001 bytes above the high"),
        (replace(PEAK, sampled_bytes=989_999), 0, STATS, (), "shows 10001 bytes less"),
        (replace(PEAK, sampled_bytes=None), 0, STATS, (), "shows 100000 bytes less"),
        (replace(PEAK, err_bytes=100_001), 0, STATS, (), "may be 100001 bytes low"),
        (PEAK, 0, replace(STATS, n_missed=6), (), "6 of 106 ticks"),
        (PEAK, 0, STATS, ("load",), "phase 'load' was still open"),
    ],
)
def test_one_reason_gives_one_warning_with_its_figures(
    peak: Peak,
    hwm_errno: int,
    stats: SamplerStats,
    open_phases: tuple[str, ...],
    expected: str,
) -> None:
    found = notices(replace(WHOLE, peak=peak), hwm_errno, stats, open_phases)
    assert len(found) == 1
    assert expected in found[0]
    assert "; " in found[0]  # what is wrong; what to do


def test_differences_inside_the_error_bound_are_no_news() -> None:
    for sampled in (990_000, 1_010_000):
        assert (
            notices(replace(WHOLE, peak=replace(PEAK, sampled_bytes=sampled)), 0, STATS, ()) == ()
        )
