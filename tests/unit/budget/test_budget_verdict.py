"""One profile and one budget: does it fit?"""

import dataclasses

import pytest
from budget_rows import ERR, MIB, budget, case, failed, phase, profile
from hypothesis import given
from hypothesis import strategies as st

from foxbench.budget.result import STATUSES, VERDICTS
from foxbench.budget.verdict import judge, overall
from foxbench.profile.result import Failure


def judged(held, measured=None, **where):
    return judge(case(held, **where), measured or profile(), "/runs/one")


@given(peak=st.integers(1, 10**10), limit=st.integers(1, 10**10), err=st.integers(0, 10**7))
def test_only_a_peak_above_its_limit_is_over_budget(peak, limit, err):
    row = judged(budget(limit), profile(peak, err))
    assert (row.status == "over_budget") == (peak > limit)
    assert row.headroom_bytes == limit - peak
    assert (row.status, row.warnings == ()) in (
        ("over_budget", False),
        ("ok", peak + err <= limit),
    )


def test_a_limit_within_the_error_bound_is_ok_with_a_warning():
    limit = 300 * MIB + ERR // 2
    row = judged(budget(limit))
    assert row.status == "ok"
    (warning,) = row.warnings
    assert "error bound of its budget" in warning
    assert "0.75 MiB" in warning


def test_a_lower_bound_below_its_limit_is_ok_with_a_warning_and_above_it_over():
    row = judged(budget(301 * MIB), profile(err_bytes=None))
    assert (row.status, row.measured_err_bytes, row.peak_kind) == ("ok", None, "sampled")
    assert "lower bound" in row.warnings[0]
    assert judged(budget(299 * MIB), profile(err_bytes=None)).status == "over_budget"


def test_growth_is_the_peak_from_build_on_above_the_resident_set_then():
    row = judged(budget(40 * MIB, covers="growth"))
    assert row.growth_bytes == row.measured_bytes == 40 * MIB
    assert row.peak_bytes == 300 * MIB
    assert row.status == "ok"
    assert judged(budget(40 * MIB - 1, covers="growth")).status == "over_budget"


def test_a_steps_budget_is_about_the_step_peak():
    row = judged(budget(3 * MIB, covers="step"))
    assert (row.measured_bytes, row.headroom_bytes, row.status) == (2 * MIB, MIB, "ok")


def test_a_step_that_was_not_measured_passes_no_budget():
    row = judged(budget(covers="step"), profile(step_peak_bytes=None))
    assert (row.status, row.measured_bytes) == ("not_measured", None)
    assert "step" in row.error.message


@pytest.mark.parametrize(
    ("noise", "delta", "changed"),
    [
        (MIB, MIB, False),
        (MIB, -MIB, False),
        (MIB, MIB + 1, True),
        (MIB, -MIB - 1, True),
        (None, ERR, False),
        (None, ERR + 1, True),
    ],
)
def test_inside_the_noise_band_nothing_is_called_a_change(noise, delta, changed):
    row = judged(budget(expected_bytes=300 * MIB - delta, noise_bytes=noise))
    assert (row.delta_bytes, row.changed) == (delta, changed)


def test_without_an_expectation_there_is_no_difference():
    row = judged(budget())
    assert row.expected_bytes is row.delta_bytes is row.changed is None


def test_a_model_without_a_budget_is_shown_and_does_not_fail():
    row = judged(None)
    assert (row.status, row.budget_bytes, row.headroom_bytes) == ("ok", None, None)
    assert row.measured_bytes == 300 * MIB


def test_a_model_above_the_whole_devices_limit_is_over_budget_without_one_of_its_own():
    assert judged(None, device_limit_bytes=300 * MIB).status == "ok"
    row = judged(None, device_limit_bytes=300 * MIB - 1)
    assert row.status == "over_budget"
    assert "whole host" in row.warnings[0]


@pytest.mark.parametrize("status", ["failed", "oom", "timeout", "not_measured"])
def test_a_run_that_did_not_finish_has_no_figure_and_keeps_what_was_seen(status):
    row = judged(budget(), failed(status))
    assert row.status == status
    assert row.measured_bytes is row.peak_bytes is row.growth_bytes is row.final_loss is None
    assert row.headroom_bytes is row.delta_bytes is None
    assert row.seen_peak_bytes == 200 * MIB
    assert (row.error.kind, row.error.phase, row.error.step) == ("ValueError", "step", 2)
    assert row.warnings == ()


def test_a_failed_run_that_was_over_its_budget_already_says_so_and_stays_failed():
    row = judged(budget(150 * MIB), failed())
    assert row.status == "failed"
    assert row.warnings == ("it was 50.00 MiB over its budget before it ended",)
    assert judged(budget(MIB, covers="growth"), failed()).warnings == ()


def test_a_device_that_is_not_there_is_not_measured():
    row = judged(budget(device="cuda"), failed(kind="NotMeasured"), device="cuda")
    assert row.status == "not_measured"


def test_on_a_device_the_figure_is_torchs_and_the_hosts_are_left_out():
    row = judged(budget(7, device="cuda"), profile(device_peak_bytes=7), device="cuda")
    assert (row.measured_bytes, row.peak_kind, row.status) == (7, "torch", "ok")
    assert row.growth_bytes is row.step_peak_bytes is None


def test_time_and_loss_and_bars_are_of_the_training():
    row = judged(budget())
    assert row.seconds == 3.0
    assert row.final_loss == 0.25
    assert row.bars == 1500
    assert (row.steps, row.epochs, row.bounded) == (6, 2, False)
    assert (row.owner, row.reason, row.expires) == ("ada", "measured", "2027-06-30")


def test_advice_on_an_option_that_validate_lacks_is_left_out():
    measured = profile(warnings=("bounded: 3 of 9 steps; --steps-per-epoch 9", "the loss is nan"))
    assert judged(None, measured).warnings == ("the loss is nan",)


def test_a_first_step_alone_counts_as_one():
    steps = dataclasses.replace(profile().steps, n_warm=0)
    assert judged(None, failed(steps=steps)).steps == 1
    assert judged(None, failed(steps=steps, phases=(phase("build", MIB),))).steps == 0


def test_over_budget_wins_because_it_is_proven_and_nothing_else_but_ok_passes():
    rows = {status: dataclasses.replace(judged(None), status=status) for status in STATUSES}
    for first in STATUSES:
        for second in STATUSES:
            both = {first, second}
            expected = (
                "over_budget" if "over_budget" in both else "ok" if both == {"ok"} else "incomplete"
            )
            assert overall([rows[first], rows[second]]) == expected
    assert VERDICTS == {"ok": 0, "over_budget": 2, "incomplete": 3}


def test_a_failure_without_a_cause_from_the_profile_is_still_a_failure():
    measured = failed(status="failed", error=Failure("exit", "left with 1", None, None, None))
    assert judged(budget(), measured).status == "failed"
