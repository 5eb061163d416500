"""What the checks mean together: the summary, the exit code, the form."""

from __future__ import annotations

import errno
import json
import mmap

import pytest

from foxbench.errors import EnvironmentFault
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor import examine as examination
from foxbench.sampler.doctor import process, trees
from foxbench.sampler.doctor.check import NEEDS, STATUSES
from foxbench.sampler.doctor.examine import GROUPS, examine
from foxbench.sampler.provenance import MarkTrial, capabilities, try_mark


def test_what_is_missing_decides_the_exit_code(monkeypatch) -> None:
    assert examine().exit_code == 0
    refused = MarkTrial("refused", "Read-only file system", errno.EROFS)
    monkeypatch.setattr(process, "try_mark", lambda spike: refused)
    sampled = examine()
    assert (sampled.exit_code, "lower bounds" in sampled.summary) == (3, True)

    def unbuilt() -> None:
        raise EnvironmentFault("the compiled sampler cannot be loaded", "build it")

    monkeypatch.setattr(process, "extension", unbuilt)
    nothing = examine()
    assert (nothing.exit_code, "cannot be loaded" in nothing.summary) == (5, True)


def test_a_source_that_is_optional_fails_nothing(monkeypatch) -> None:
    monkeypatch.setattr(trees, "launcher_path", lambda: "/no/such/launcher")
    found = examine()
    assert next(c for c in found.groups["tree"] if c.name == "launcher").status == "missing"
    assert found.exit_code == 0


def test_a_check_that_fails_itself_does_not_end_the_examination(monkeypatch) -> None:
    def unforeseen(_roots: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(examination, "GROUPS", {**GROUPS, "odd": (unforeseen,)})
    found = examine()
    (check,) = found.groups["odd"]
    assert (check.name, check.status) == ("unforeseen", "limited")
    assert "RuntimeError: no such thing" in check.finding
    assert found.exit_code == 0


def test_every_check_is_well_formed_and_whatever_is_not_well_has_a_remedy() -> None:
    found = examine()
    assert list(found.groups) == list(GROUPS)
    checks = [check for checks in found.groups.values() for check in checks]
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert check.status in STATUSES
        assert check.needed_for in NEEDS
        assert check.finding
        if check.status in ("limited", "missing"):
            assert check.remedy, check.name
    json.dumps(found.as_json())


def test_checks_carry_the_names_of_their_functions() -> None:
    for functions, checks in zip(GROUPS.values(), examine().groups.values(), strict=True):
        assert [f.__name__ for f in functions] == [c.name for c in checks]


@pytest.mark.parametrize("spike", [False, True])
def test_a_reset_that_works_is_found_to_work(spike: bool) -> None:
    assert try_mark(spike=spike) == MarkTrial()


def test_a_reset_that_does_nothing_is_noticed_by_a_spike_alone_when_at_the_top(monkeypatch) -> None:
    lowlevel.hwm_reset()  # the mark is now where the process stands
    monkeypatch.setattr(lowlevel, "hwm_reset", lambda: None)
    assert try_mark().cause == ""
    assert try_mark(spike=True).cause == "no_effect"


def test_a_reset_that_does_nothing_is_noticed_below_a_former_peak(monkeypatch) -> None:
    size_bytes = (64 << 20) + 4 * lowlevel.error_bound_here()
    with mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as former:
        for at in range(0, len(former), mmap.PAGESIZE):
            former[at] = 1
    monkeypatch.setattr(lowlevel, "hwm_reset", lambda: None)
    assert try_mark().cause == "no_effect"
    assert not capabilities().hwm_reset
    assert "does nothing" in capabilities().hwm_reset_problem


def test_a_trial_of_capabilities_leaves_the_lifetime_peak_alone() -> None:
    before = lowlevel.lifetime_peak_bytes()
    capabilities()
    assert lowlevel.lifetime_peak_bytes() < before + (8 << 20)
