"""A training under a real limit of memory: what fits runs, what does not is ended by the kernel."""

import pytest
from profile_runs import MIB, foxbench, saved

from foxbench.profile import limit, plan, runner
from foxbench.profile.spec import Spec
from foxbench.sampler.doctor.cgroup import memory_group
from foxbench.sampler.doctor.check import Roots


def test_a_training_over_its_limit_is_ended_and_called_oom(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Grows", bars_file, "--limit", "256 MiB")
    profile = saved(folder)
    # Killed in a control group of its own; where none can be made, refused the memory.
    assert (profile.limit.kind, code) in (("cgroup", 137), ("rlimit", 3))
    assert profile.status == "oom"
    assert profile.limit.bytes == 256 * MIB
    assert profile.peak_bytes is None
    assert 5 <= profile.steps.n_warm <= 16  # 16 MiB each, in what 100 MiB or so leave of 256
    assert profile.seen_peak_bytes > 128 * MIB
    assert "memory" in out


def test_a_training_inside_its_limit_runs_to_its_end(folder, bars_file):
    code, out, _ = foxbench(folder, "my_trainers:Plain", bars_file, "1", "--limit", "512 MiB")
    assert code == 0, out
    assert saved(folder).limit.kind in limit.KINDS


def in_process(folder, bars_file, name, limit_bytes):
    request = plan.Request(
        model=f"my_trainers:{name}",
        files=(bars_file,),
        epochs=1,
        steps_per_epoch=24,
        limit_bytes=limit_bytes,
    )
    spec: Spec = plan.spec(request, folder)
    return runner.run(spec, folder)


def test_without_control_groups_the_kernel_refuses_what_goes_over(folder, bars_file, monkeypatch):
    monkeypatch.setattr(limit, "_make_group", lambda _: None)
    monkeypatch.chdir(folder)
    profile = in_process(folder, bars_file, "Grows", 256 * MIB)
    assert profile.limit.kind == "rlimit"
    assert profile.status == "oom"
    assert 5 <= profile.steps.n_warm <= 16
    assert "MemoryError" in profile.error.kind or "allocate" in profile.error.message


def test_a_limit_below_what_is_resident_before_the_first_step_is_oom_and_says_so(
    folder, bars_file, monkeypatch
):
    monkeypatch.setattr(limit, "_make_group", lambda _: None)
    monkeypatch.chdir(folder)
    profile = in_process(folder, bars_file, "Plain", 1 * MIB)
    assert profile.status == "oom"
    assert "before the first step" in profile.error.message


def test_no_group_is_left_behind(folder, bars_file):
    foxbench(folder, "my_trainers:Grows", bars_file, "--limit", "256 MiB")
    own = memory_group(Roots())
    assert own is None or not list(own.folder.glob("foxbench-*"))


@pytest.mark.parametrize("size", ["256", "-1 MiB", "many"])
def test_a_limit_without_a_unit_is_refused(folder, bars_file, size):
    code, _, err = foxbench(folder, "my_trainers:Plain", bars_file, f"--limit={size}")
    assert code == 4
    assert "--limit" in err
