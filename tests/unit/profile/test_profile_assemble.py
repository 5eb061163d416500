import signal

import pytest
from profiles import MIB, end, ok_profile, records, spec

from foxbench.profile import assemble

AT = "2026-01-01T00:00:00+00:00"


def cut(kind, name=None):
    """The records up to the first of ``kind``, as a process that died there leaves them."""
    kept = []
    for record in records():
        kept.append(record)
        if record["kind"] == kind and name in (None, record.get("name"), record.get("n")):
            return kept
    raise AssertionError(f"no {kind} {name}")


def assembled(found, **ending):
    return assemble.profile(spec(), found, end(**ending), AT)


def test_a_finished_run_is_ok_and_has_its_headline_figures():
    profile = ok_profile()
    assert (profile.status, profile.exit_code, profile.error) == ("ok", 0, None)
    assert profile.peak_bytes == 111 * MIB
    assert profile.peak_err_bytes == 700_000
    assert profile.first_step_peak_bytes == 20 * MIB
    assert profile.step_peak_bytes == 2 * MIB
    assert [p.name for p in profile.phases] == [
        *("import", "load", "features", "build", "first_step", "step", "eval"),
    ]


def test_the_first_step_is_no_part_of_the_steps_statistics():
    steps = ok_profile().steps
    assert steps.n_warm == 5
    assert steps.max_peak_bytes == 3 * MIB
    assert steps.max_peak_step == 4


def test_the_step_peak_is_the_median_of_the_settled_steps_alone():
    found = records(peaks_mib=(20, 5, 1, 1, 7, 6))
    for record in found:
        if record["kind"] == "step":
            record["settled"] = record["n"] in (1, 2, 5, 6)
    profile = assembled(found)
    assert profile.steps.n_settled == 3
    assert profile.step_peak_bytes == 6 * MIB
    assert profile.steps.max_peak_bytes == 7 * MIB


def test_losses_are_averaged_over_each_epoch_the_first_step_included():
    losses = ok_profile().losses
    assert (losses.first, losses.last) == (5.0, 1.0)
    assert losses.epoch_means == (4.0, 1.5)


def test_epochs_cut_short_are_said():
    profile = ok_profile()
    assert profile.steps.bounded
    assert any("3 of the 9 steps" in w for w in profile.warnings)


def test_whole_epochs_are_not_called_cut_short():
    profile = assembled(records(full=3))
    assert not profile.steps.bounded
    assert not any("bounded" in w for w in profile.warnings)


def test_a_training_that_raised_keeps_its_phases_and_has_no_headline_figure():
    found = cut("step", 4)
    found.append(
        {"kind": "error", "type": "ValueError", "message": "no", "oom": False, "traceback": "tb"}
    )
    profile = assembled(found, returncode=3)
    assert (profile.status, profile.exit_code) == ("failed", 3)
    assert profile.peak_bytes is None
    assert profile.step_peak_bytes is None
    assert profile.first_step_peak_bytes is None
    assert profile.seen_peak_bytes == 110 * MIB
    assert (profile.error.kind, profile.error.phase, profile.error.step) == (
        "ValueError",
        "step",
        5,
    )
    assert profile.steps.n_warm == 3
    assert profile.phases[-1].name == "first_step"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_training_killed_by_a_signal_exits_with_128_and_its_number(number):
    profile = assembled(cut("begin", "step"), returncode=-number)
    assert (profile.status, profile.exit_code) == ("failed", 128 + number)
    assert number.name in profile.error.message


def test_sigkill_is_called_out_of_memory_only_when_the_kernel_counted_a_kill():
    assert assembled(cut("phase", "build"), returncode=-9).status == "failed"
    assert assembled(cut("phase", "build"), returncode=-9, oom_killed=True).status == "oom"


def test_another_signal_is_not_called_out_of_memory():
    assert assembled(cut("phase", "build"), returncode=-11, oom_killed=True).status == "failed"


def test_a_timeout_is_a_status_of_its_own():
    profile = assembled(cut("step", 2), returncode=-15, cause="timeout")
    assert (profile.status, profile.exit_code) == ("timeout", 124)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_run_exits_with_the_signal_that_this_command_got(name, code):
    profile = assembled(cut("step", 2), returncode=-15, cause=name)
    assert (profile.status, profile.exit_code) == ("failed", code)


def test_a_process_that_left_with_0_before_its_end_is_not_ok():
    profile = assembled(cut("step", 3), returncode=0)
    assert (profile.status, profile.exit_code) == ("failed", 3)
    assert "before its end" in profile.error.message


def test_a_process_that_died_before_its_first_record_still_makes_a_profile():
    profile = assembled([], returncode=1, output_tail="ImportError: x", seen_peak_bytes=None)
    assert profile.status == "failed"
    assert profile.error.traceback == "ImportError: x"
    assert profile.seen_peak_bytes is None
    assert profile.phases == ()
    assert profile.steps is None


def test_a_loss_that_is_not_finite_is_null_and_warned_of():
    profile = assembled(records(losses=(5.0, 4.0, float("nan"), 2.0, 1.5, float("inf"))))
    assert profile.losses.last is None
    assert profile.losses.epoch_means == (None, None)
    assert any("step 3" in w for w in profile.warnings)


def test_a_trainer_whose_steps_return_nothing_has_no_losses():
    assert assembled(records(losses=(None,) * 6)).losses is None


def test_the_default_allocator_is_warned_of():
    profile = assemble.profile(spec(quiet_allocator=False), records(), end(), AT)
    assert any("allocator" in w for w in profile.warnings)
