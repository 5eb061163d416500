import dataclasses
import io

import pytest
from leak_readings import FLAT, MIB, STEPS, judged, made
from rich.console import Console

from foxbench.leak import report, verdict


def shown(found, tmp_path):
    out = io.StringIO()
    report.show(found, tmp_path, Console(file=out, width=160))
    return out.getvalue()


def test_a_leak_is_told_with_its_figures(tmp_path):
    found = judged(budget_bytes=4096 * MIB, heap_bytes=FLAT + 4096 * STEPS)
    text = shown(made(found), tmp_path)
    assert "leak: the heap in use rises" in text
    assert "4,096 bytes, surely above 4,0" in text
    assert f"{4096 * 86_400 * 100 / 1e6:,.1f} MB, at the 10.0 ms" in text
    assert "4.00 GiB: reached in 2.7 hours" in text
    assert "over 99.99 %" in text


def test_a_lower_bound_is_called_one(tmp_path):
    text = shown(made(judged(budget_bytes=4096 * MIB, blocks=90_000 + 174 * STEPS)), tmp_path)
    assert "at least 2,784 bytes" in text
    assert "reached in at most" in text


def test_what_is_clean_says_that_nothing_rises_towards_the_budget(tmp_path):
    text = shown(made(judged(budget_bytes=4096 * MIB)), tmp_path)
    assert "clean" in text
    assert "nothing rises towards it" in text
    assert "a day" not in text


@pytest.mark.parametrize("n", [10, 100])
def test_a_run_that_failed_says_so_and_whether_it_was_judged(tmp_path, n):
    found = made(judged(n=n), status="failed", error="ValueError, step 77: no loss [/]")
    text = shown(found, tmp_path)
    assert "ValueError, step 77: no loss [/]" in text
    assert ("judged by what was read until then" in text) == (n == 100)


def test_a_command_is_shown_as_it_was_typed(tmp_path):
    found = made(verdict.of_command(None), kind="command", command=("sleep", "a b"), files=())
    text = shown(dataclasses.replace(found, model=None), tmp_path)
    assert text.startswith("sleep 'a b'")
    assert "not measured" in text


def test_only_files_that_are_there_are_named(tmp_path):
    (tmp_path / "leak.json").touch()
    assert "{leak.json}" in shown(made(), tmp_path)
