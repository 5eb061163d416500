"""Markdown tables, medians and what else the questions share."""

from __future__ import annotations

import random
import statistics
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


def mib(n_bytes: float | None) -> str:
    """MiB for people."""
    return "not measured" if n_bytes is None else f"{n_bytes / 2**20:,.1f}"
