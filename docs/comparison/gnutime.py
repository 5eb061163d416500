"""``foxbench run`` beside GNU ``time -v``: start to end of ``true``, and the figures of both."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from table import ROOT, show

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
    "a product in numpy": [
        sys.executable,
        "-c",
        "import numpy as np; a = np.ones((1500, 1500)); (a @ a).sum()",
    ],
    "cc of one file": [
        *("cc", "-std=c11", "-O2", "-D_GNU_SOURCE", f"-I{ROOT / 'csrc'}"),
        *("-c", str(ROOT / "csrc/timeline.c"), "-o", "/dev/null"),
    ],
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


def figures(command: list[str]) -> dict[str, float | None]:
    """A verbose report's numbers by label; None for what is said not to be measured."""
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    lines = [line.strip().rsplit(": ", 1) for line in said.splitlines() if line.startswith("\t")]
    return {
        label: None if value == "not measured" else float(value)
        for label, value in lines
        if label in LABELS
    }


def middle(values: list[float | None]) -> str:
    """Median of those that were measured, for people."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):g}" if known else "not measured"


def main(quick: bool) -> dict[str, object]:
    """Print both tables; return every run."""
    gnu = shutil.which("time")
    if gnu is None:
        print("GNU time is not installed: not run")
        return {}
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
    rows, tables = [], {}
    for name, command in COMMANDS.items():
        pairs: list[tuple[dict[str, float | None], dict[str, float | None]]] = []
        for _ in range(2 if quick else 9):
            pairs.append(
                (
                    figures([gnu, "-v", *command]),
                    figures([*foxbench(), "--format", "gnu", *command]),
                )
            )
        tables[name] = [{"time -v": gnus, "foxbench run": foxes} for gnus, foxes in pairs]
        for side, which in enumerate(("time -v", "foxbench run")):
            cells = [middle([pair[side][label] for pair in pairs]) for label in LABELS]
            rows.append((name if side == 0 else "", which, *cells))
    show(["command", "by", *LABELS.values()], rows)
    return {"true_ms": {"time -v": theirs, "foxbench run": ours}, "commands": tables}
