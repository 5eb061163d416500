"""``foxbench run`` beside GNU ``time -v``: start to end of ``true``, and the figures of both."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from table import show

PYTHON = [sys.executable, "-I", "-S", "-c"]
COMMANDS = {
    "true": ["true"],
    "a Python loop": [*PYTHON, "sum(i * i for i in range(2_000_000))"],
    "256 MiB in Python": [*PYTHON, "x = bytearray(b'x') * (256 << 20)"],
    "200 forks": [
        *PYTHON,
        "import os\nfor _ in range(200):\n    os.fork() or os._exit(0)\n    os.wait()",
    ],
    "1000 sleeps": [*PYTHON, "import time\nfor _ in range(1000): time.sleep(1e-5)"],
    "find": ["find", sysconfig.get_path("stdlib"), "-name", "*.py"],
}
LABELS = {
    "User time (seconds)": "user s",
    "System time (seconds)": "system s",
    "Maximum resident set size (kbytes)": "peak KB",
    "Average resident set size (kbytes)": "average KB",
    "Minor (reclaiming a frame) page faults": "minor faults",
    "Voluntary context switches": "voluntary",
    "Involuntary context switches": "involuntary",
}


def foxbench() -> list[str]:
    """The command as a user starts it."""
    return [str(Path(sys.executable).with_name("foxbench")), "run"]


def span_ms(command: list[str]) -> float:
    """Start to end."""
    begin = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return (time.perf_counter() - begin) * 1e3


def figures(command: list[str]) -> dict[str, float]:
    """A verbose report's numbers by label."""
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    lines = [line.strip().rsplit(": ", 1) for line in said.splitlines() if line.startswith("\t")]
    return {label: float(value) for label, value in lines if label in LABELS}


def main(quick: bool) -> None:
    """Print both tables."""
    gnu = shutil.which("time")
    if gnu is None:
        print("GNU time is not installed: not run")
        return
    theirs, ours = [], []
    for _ in range(5 if quick else 100):
        theirs.append(span_ms([gnu, "-v", "true"]))
        ours.append(span_ms([*foxbench(), "true"]))
    added = statistics.median(o - t for o, t in zip(ours, theirs, strict=True))
    print(
        f"`true`, start to end, median of {len(ours)} pairs: time -v "
        f"{statistics.median(theirs):.1f} ms, foxbench run {statistics.median(ours):.1f} ms, "
        f"{added:+.1f} ms.\n"
    )
    rows = []
    for name, command in COMMANDS.items():
        pairs: list[tuple[dict[str, float], dict[str, float]]] = []
        for _ in range(2 if quick else 9):
            pairs.append(
                (
                    figures([gnu, "-v", *command]),
                    figures([*foxbench(), "--format", "gnu", *command]),
                )
            )
        for side, which in enumerate(("time -v", "foxbench run")):
            cells = [statistics.median(pair[side][label] for pair in pairs) for label in LABELS]
            rows.append((name if side == 0 else "", which, *(f"{cell:g}" for cell in cells)))
    show(["command", "by", *LABELS.values()], rows)
