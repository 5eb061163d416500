"""A leak test's result as text for a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.leak.result import LeakResult
from foxbench.leak.verdict import GaugeTrend, LeakVerdict
from foxbench.profile.report import MISSING
from foxbench.sizes import format_bytes

_STYLES = {
    "leak": "bold red",
    "clean": "bold green",
    "fragmentation": "bold yellow",
    "suspect": "bold yellow",
    "not_measured": "bold yellow",
}

_GAUGE_WORDS = {
    "heap_bytes": "heap in use",
    "device_bytes": "device in use",
    "blocks": "Python's blocks",
    "rss_bytes": "resident set",
}

_FILES = ("leak.json", "profile.json", "log.jsonl", "timeline.parquet", "output.txt")


def show(found: LeakResult, directory: Path, out: Console) -> None:
    """Print the verdict, how fast it leaks, what each gauge did and where the files lie."""
    verdict = found.verdict
    subject = found.model if found.kind == "training" else shlex.join(found.command)
    on = f" on {escape(found.files[0])}" if found.files else ""
    out.print(f"[bold]{escape(subject or '')}[/]{on}", soft_wrap=True)
    if verdict.trends:
        out.print(gauge_table(verdict.trends))
    word = verdict.verdict.replace("_", " ")
    out.print(
        f"  {'verdict':<12} [{_STYLES[verdict.verdict]}]{word}[/]: {escape(verdict.reason)}",
        soft_wrap=True,
    )
    for label, text in _lines(found):
        out.print(f"  {label:<12} {escape(text)}", soft_wrap=True)
    if found.error is not None:
        so_far = ", judged by what was read until then" if verdict.trends else ""
        out.print(f"  [red]{found.status:<12}[/] {escape(found.error)}{so_far}", soft_wrap=True)
    files = ",".join(name for name in _FILES if (directory / name).exists())
    out.print(f"  {'files':<12} {escape(str(directory))}/{{{files}}}", soft_wrap=True)


def gauge_table(trends: tuple[GaugeTrend, ...]) -> Table:
    """One row a gauge."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("gauge")
    per = trends[0].per
    for name in ("last", f"rise a {per}", "surely above", "counts from", "z"):
        table.add_column(name, justify="right")
    table.add_column("rises")
    for one in trends:
        trend = one.trend
        table.add_row(
            _GAUGE_WORDS[one.gauge],
            _amount(one.last, one.unit),
            _rate(trend.slope.value, one.unit),
            _rate(trend.slope.lower, one.unit),
            _rate(trend.threshold, one.unit),
            f"{trend.z:.1f}",
            "yes" if trend.rises else f"no, {trend.turned_away}",
        )
    return table


def _lines(found: LeakResult) -> list[tuple[str, str]]:
    """Label and text of every figure that there is."""
    verdict = found.verdict
    lines = []
    if verdict.bytes_per_step is not None and verdict.bytes_per_step_lower is not None:
        least = "at least " if verdict.at_least else ""
        lines.append(
            (
                "a step",
                f"{least}{verdict.bytes_per_step:,} bytes, surely above "
                f"{verdict.bytes_per_step_lower:,} (99 %)",
            )
        )
    if verdict.confidence is not None:
        lines.append(("confidence", f"{_percent(verdict.confidence)} that it rises at all"))
    if verdict.bytes_per_day is not None:
        least = "at least " if verdict.at_least else ""
        lines.append(("a day", f"{least}{verdict.bytes_per_day / 1e6:,.1f} MB{_pace(verdict)}"))
    if verdict.budget_bytes is not None:
        lines.append(("budget", _budget(verdict)))
    if found.kind == "training":
        lines.append(("steps", f"{verdict.n_readings:,}"))
    return lines


def _pace(verdict: LeakVerdict) -> str:
    if verdict.step_wall_ns is None:
        return ""
    return f", at the {verdict.step_wall_ns / 1e6:,.1f} ms that a step took here"


def _budget(verdict: LeakVerdict) -> str:
    limit = format_bytes(verdict.budget_bytes or 0)
    if verdict.bytes_per_day is None:
        return f"{limit}: nothing rises towards it"
    if verdict.seconds_to_budget is None:
        return f"{limit}: {MISSING} how soon"
    if verdict.seconds_to_budget == 0:
        return f"{limit}: over it already"
    most = "at most " if verdict.at_least else ""
    return f"{limit}: reached in {most}{_duration(verdict.seconds_to_budget)}"


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _percent(share: float) -> str:
    return "over 99.99 %" if share > 0.9999 else f"{100 * share:.2f} %"


def _amount(value: int, unit: str) -> str:
    return format_bytes(value) if unit == "bytes" else f"{value:,}"


def _rate(value: float, unit: str) -> str:
    return f"{value:,.0f} B" if unit == "bytes" else f"{value:,.1f}"
