"""Markdown tables, medians and what else the questions share."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def show(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def interval(values: Sequence[float], n: int = 2000) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median; the same numbers give the same interval."""
    draw = random.Random(7)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(n))
    return medians[n // 40], medians[-n // 40]


def with_interval(values: Sequence[float], digits: int = 4) -> str:
    """Median and its interval, for people."""
    low, high = interval(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def mib(n_bytes: float | None) -> str:
    """MiB for people."""
    return "not measured" if n_bytes is None else f"{n_bytes / 2**20:,.1f}"


def build_c(name: str, folder: Path) -> Path:
    """Compile ``csrc/tests/NAME.c`` with the instrument, as the extension is compiled."""
    program = folder / name
    sources = [path for path in (ROOT / "csrc").glob("*.c") if path.name != "_foxsampler.c"]
    flags = ["-std=c11", "-O3", "-D_GNU_SOURCE", f"-I{ROOT / 'csrc'}", "-pthread"]
    test = ROOT / "csrc/tests" / f"{name}.c"
    subprocess.run(["cc", *flags, "-o", program, test, *sources], check=True)
    return program


def key_values(command: Sequence[str | Path]) -> dict[str, float]:
    """Run a program that prints one "key value" a line."""
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {key: float(value) for key, value in (line.split() for line in said.splitlines())}


def install_peers(into: str, *names: str) -> bool:
    """Install peers, pinned in requirements.txt, into a folder of their own; whether that worked.

    Nothing of the interpreter's own packages is touched.
    """
    pins = (Path(__file__).parent / "requirements.txt").read_text().split()
    wanted = [pin for pin in pins if not names or pin.split("==")[0] in names]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", into]
    env = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    return subprocess.run([*pip, "--no-warn-conflicts", *wanted], env=env).returncode == 0
