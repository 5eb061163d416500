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


def test_growth_is_from_build_on_and_needs_no_import():
    made = assemble.profile(spec(), records(), end(), "now")
    # first_step peaks at 110 MiB, build begins at 90.
    assert made.growth_peak_bytes == 20 * MIB


def test_the_parts_of_a_step_are_kept_as_they_were_measured():
    made = assemble.profile(spec(), records(), end(), "now")
    assert made.steps.part_peak_bytes == {"forward": MIB, "backward": 2 * MIB, "update": 0}


def test_the_time_of_the_steps_is_theirs_alone():
    made = assemble.profile(spec(), records(), end(), "now")
    assert made.steps.wall_ns == 1000 * sum(range(1, 7))


def test_the_largest_phase_is_the_devices_peak_and_none_of_them_is_none():
    on_device = [
        {**r, "device_peak_bytes": 7 if r["name"] == "step" else 5} if r["kind"] == "phase" else r
        for r in records()
    ]
    assert assemble.profile(spec(), on_device, end(), "now").device_peak_bytes == 7
    assert assemble.profile(spec(), records(), end(), "now").device_peak_bytes is None


def test_a_run_that_time_ended_is_not_called_cut_short():
    soaked = [
        {**r, "total": None, "seconds": 60.0} if r["kind"] == "plan" else r for r in records()
    ]
    steps = assemble.profile(spec(soak_s=60.0), soaked, end(), "now").steps
    assert steps.n_total_asked is None
    assert not steps.bounded


def test_a_device_that_is_not_there_is_not_measured_and_not_a_failure():
    error = {
        "kind": "error",
        "type": "NotMeasured",
        "message": "no cuda device here",
        "oom": False,
        "not_measured": True,
        "traceback": None,
    }
    made = assemble.profile(spec(device="cuda"), [error], end(returncode=3), "now")
    assert (made.status, made.exit_code, made.device) == ("not_measured", 3, "cuda")


def test_a_kill_inside_the_limits_group_is_out_of_memory():
    limited = spec(limit_bytes=100 * MIB, limit_kind="cgroup")
    made = assemble.profile(limited, records()[:4], end(returncode=-9, oom_killed=True), "now")
    assert made.status == "oom"
    assert (made.limit.bytes, made.limit.kind) == (100 * MIB, "cgroup")


def test_a_part_that_could_not_be_measured_is_a_warning_and_no_failure():
    without = [r for r in records() if r["kind"] != "parts"]
    without.insert(-1, {"kind": "warning", "message": "a step's parts were not measured: x"})
    made = assemble.profile(spec(), without, end(), AT)
    assert made.status == "ok"
    assert made.steps.part_peak_bytes is None
    assert any("parts were not measured" in w for w in made.warnings)
