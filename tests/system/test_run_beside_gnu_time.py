"""``foxbench run`` gives what GNU time gives, under GNU time's own names."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from run_command import MIB, launch, python

GNU_TIME = shutil.which("time")

COMMANDS = {
    "true": ["true"],
    "a Python loop": python("s = sum(i * i for i in range(2_000_000))"),
    "64 MiB touched": python("hold(64 * MIB)"),
    "200 forks": python("for _ in range(200):\n    os.fork() or os._exit(0)\n    os.wait()"),
    "1000 sleeps": python("for _ in range(1000):\n    time.sleep(1e-5)"),
}


@pytest.fixture(scope="module")
def gnu_time() -> str:
    if GNU_TIME is None:
        pytest.skip("GNU time is not installed (apt-get install time)")
    return GNU_TIME


def labelled(text: str) -> dict[str, str]:
    """The lines of a verbose report by label."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("\t")]
    return dict(line.rsplit(": ", 1) for line in lines)


def by_both(gnu_time: str, command: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    theirs = subprocess.run([gnu_time, "-v", *command], capture_output=True, text=True, check=True)
    ours = launch("--format", "gnu", *command, text=True)
    return labelled(theirs.stderr), labelled(ours.stderr)


def test_every_label_of_gnu_time_is_there_in_its_order(gnu_time: str) -> None:
    theirs, ours = by_both(gnu_time, ["true"])
    assert list(ours) == list(theirs)
    for same in ("Command being timed", "Page size (bytes)", "Exit status", "Swaps"):
        assert ours[same] == theirs[same]


@pytest.mark.parametrize(
    "command", [["sh", "-c", "exit 3"], ["sh", "-c", "kill -9 $$"], ["sh", "-c", "kill -11 $$"]]
)
def test_failures_are_worded_as_gnu_time_words_them(gnu_time: str, command: list[str]) -> None:
    theirs = subprocess.run([gnu_time, "-v", *command], capture_output=True, text=True)
    ours = launch("--format", "gnu", *command, text=True)
    assert ours.stderr.splitlines()[:2] == theirs.stderr.splitlines()[:2]
    assert labelled(ours.stderr)["Exit status"] == labelled(theirs.stderr)["Exit status"]
    assert ours.returncode == theirs.returncode


@pytest.mark.parametrize("name", COMMANDS)
def test_faults_switches_and_memory_agree_within_noise(
    gnu_time: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts only; both medians of five interleaved runs.  CPU time is printed, not asserted."""
    rows: dict[str, tuple[list[float], list[float]]] = {}
    for _ in range(5):
        theirs, ours = by_both(gnu_time, COMMANDS[name])
        for label in theirs:
            if label.startswith(("User", "System", "Maximum", "Minor", "Major", "Vol", "Invol")):
                pair = rows.setdefault(label, ([], []))
                pair[0].append(float(theirs[label]))
                pair[1].append(float(ours[label]))
    medians = {k: (statistics.median(a), statistics.median(b)) for k, (a, b) in rows.items()}
    with capsys.disabled():
        print(f"\n{name:<46}{'GNU time':>12}{'foxbench run':>14}")
        for label, (gnu, fox) in medians.items():
            print(f"    {label:<42}{gnu:>12g}{fox:>14g}")
    for label, (gnu, fox) in medians.items():
        if label.startswith("Maximum"):
            assert abs(fox - gnu) * 1024 <= 2 * MIB
        elif label.startswith("Minor"):
            assert abs(fox - gnu) <= max(100, 0.05 * gnu)
        elif label.startswith("Voluntary"):
            assert abs(fox - gnu) <= max(30, 0.1 * gnu)


def test_the_average_that_gnu_time_prints_as_0_is_measured() -> None:
    body = "x = hold(64 * MIB); time.sleep(0.3)"
    ours = labelled(launch("--format", "gnu", *python(body), text=True).stderr)
    average = int(ours["Average resident set size (kbytes)"]) * 1024
    assert 40 * MIB <= average <= 96 * MIB


def test_a_script_that_greps_gnu_times_report_goes_on_working(tmp_path: Path) -> None:
    grep = "grep 'Maximum resident set size' | awk '{print $NF}'"
    command = f"{sys.executable} -m foxbench.cli.entry run --format gnu true 2>&1 | {grep}"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert 500 < int(found.stdout) < 3000
