"""What is said while a training runs."""

import io

import pytest
from profiles import MIB, records, step
from rich.console import Console

from foxbench.profile import progress
from foxbench.profile.progress import TrainingProgress


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def plan(total, seconds=None):
    return {"kind": "plan", "per_epoch": 3, "per_full_epoch": 9, "total": total, "seconds": seconds}


def piped():
    return Console(file=io.StringIO(), width=118)


def said(console):
    return console.file.getvalue()


def test_to_a_pipe_goes_a_line_for_each_phase_and_nothing_for_quick_steps(clock):
    console = piped()
    with TrainingProgress(console) as listen:
        for record in records():
            listen(record)
    lines = said(console).splitlines()
    names = [line.split()[0] for line in lines]
    assert names == ["import", "load", "features", "build", "first_step", "step", "eval"]
    assert all("peak" in line for line in lines)


def test_to_a_pipe_a_long_phase_says_now_and_then_where_it_is(clock):
    console = piped()
    with TrainingProgress(console) as listen:
        listen(plan(1001))
        listen({"kind": "begin", "name": "step"})
        for n in range(2, 302):
            clock.now += 1.0
            listen(step(n))
    lines = said(console).splitlines()
    assert len(lines) == 300 // 30
    assert "step 31 of 1,001" in lines[0]
    assert "RSS 95.00 MiB" in lines[0]
    assert "loss 1" in lines[0]
    assert "970 s left" in lines[0]  # 30 steps took 30 s, 970 are left
    assert "700 s left" in lines[-1]


def test_of_a_chosen_time_the_time_left_is_what_remains_of_it(clock):
    with TrainingProgress(piped()) as listen:
        listen(plan(None, seconds=60.0))
        listen({"kind": "begin", "name": "step"})
        clock.now += 45.0
        assert listen.left_s(7) == 15.0
        clock.now += 45.0
        assert listen.left_s(8) == 0.0


def test_before_the_first_warm_step_nobody_knows_the_time_left(clock):
    with TrainingProgress(piped()) as listen:
        assert listen.left_s(1) is None
        listen(plan(100))
        assert listen.left_s(1) is None


def terminal(kind):
    return Console(
        file=io.StringIO(), width=118, height=25, force_terminal=True, _environ={"TERM": kind}
    )


def test_a_terminal_that_cannot_redraw_gets_lines_as_a_pipe_does(clock):
    console = terminal("dumb")
    with TrainingProgress(console) as listen:
        listen(plan(1001))
        listen({"kind": "begin", "name": "step"})
        clock.now += 31.0
        listen(step(2))
    assert "step 2 of 1,001" in said(console)


def test_on_a_terminal_the_resident_set_at_the_moment_is_in_the_bar(clock):
    console = terminal("xterm-256color")
    with TrainingProgress(console) as listen:
        listen({"kind": "begin", "name": "features"})
        listen({"kind": "rss", "rss_bytes": 321 * MIB})
        listen._bar.refresh()
    assert "RSS 321.00 MiB" in said(console)
    assert "features" in said(console)
