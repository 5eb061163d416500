"""step_begin and step_end: any depth, any thread, never twice."""

from __future__ import annotations

import os
import threading

import pytest

import foxbench
from foxbench.errors import UsageError

MIB = 1 << 20


def test_inner_and_outer_steps_have_peaks_of_their_own(spike, slack_bytes) -> None:
    foxbench.step_begin("outer")
    spike(64 * MIB)
    foxbench.step_begin("inner")
    spike(16 * MIB)
    inner, outer = foxbench.step_end(), foxbench.step_end()
    assert (inner.name, inner.depth) == ("inner", 1)
    assert (outer.name, outer.depth) == ("outer", 0)
    assert abs(inner.step_peak_bytes - 16 * MIB) <= slack_bytes
    assert abs(outer.step_peak_bytes - 64 * MIB) <= slack_bytes
    assert outer.begin_ns <= inner.begin_ns <= inner.end_ns <= outer.end_ns


def test_a_token_ends_an_outer_step_before_its_inner_one(spike, slack_bytes) -> None:
    outer = foxbench.step_begin("outer")
    foxbench.step_begin("inner")
    assert foxbench.step_end(outer).name == "outer"
    spike(16 * MIB)
    assert abs(foxbench.step_end().step_peak_bytes - 16 * MIB) <= slack_bytes


def test_a_step_may_end_in_another_thread(spike, slack_bytes) -> None:
    token = foxbench.step_begin("here")
    ended = []

    def elsewhere() -> None:
        with pytest.raises(UsageError, match=r"without a step_begin\(\)"):
            foxbench.step_end()  # nothing was begun in this thread
        spike(16 * MIB)
        ended.append(foxbench.step_end(token))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert abs(ended[0].step_peak_bytes - 16 * MIB) <= slack_bytes + MIB  # and a thread's stack
    with pytest.raises(UsageError, match="'here' is not open"):
        foxbench.step_end(token)


def test_two_thousand_steps_nest(spike, slack_bytes) -> None:
    for depth in range(2000):
        assert foxbench.step_begin().depth == depth
    spike(32 * MIB)
    peaks = [foxbench.step_end() for _ in range(2000)]
    assert [p.depth for p in peaks] == list(range(1999, -1, -1))
    assert min(p.step_peak_bytes for p in peaks) >= 32 * MIB - slack_bytes


def test_ending_what_was_never_begun_says_what_to_do() -> None:
    with pytest.raises(UsageError) as caught:
        foxbench.step_end()
    assert "step_begin()" in caught.value.remedy


def test_a_forked_child_has_no_open_step_and_may_begin_its_own() -> None:
    token = foxbench.step_begin("parent's")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            try:
                foxbench.step_end(token)
            except UsageError:
                foxbench.step_begin()
                code = 0 if foxbench.step_end().depth == 0 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert foxbench.step_end(token).name == "parent's"


def test_an_interval_tells_what_its_memory_is_made_of_and_what_was_read(hold, tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * MIB)
    foxbench.step_begin()
    held = hold(32 * MIB)
    path.read_bytes()
    step = foxbench.step_end()
    held.drop()
    begin, end = step.split_begin, step.split_end
    assert begin is not None
    assert end is not None
    assert begin.anon_bytes is not None
    assert end.anon_bytes is not None
    assert 31 * MIB <= end.anon_bytes - begin.anon_bytes <= 34 * MIB
    assert end.shmem_bytes is not None
    if step.io is not None:  # a kernel may be built without it
        assert step.io.rchar_bytes >= MIB
        assert step.io.read_calls >= 1
