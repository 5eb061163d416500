"""A sweep as text for a terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import jinja2
from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.profile.page import templates
from foxbench.profile.progress import TrainingProgress
from foxbench.profile.report import MISSING, mib, print_whole
from foxbench.profile.runner import Listener
from foxbench.sweep import plot
from foxbench.sweep.grid import Point
from foxbench.sweep.result import Row, Sweep
from foxbench.sweep.trainings import Announce
from foxbench.text import plain

#: Heads of the columns after the model and its settings; memory in MiB.
COLUMNS = (
    "status",
    "step peak",
    "by arithmetic",
    "first step",
    "growth",
    "parameters",
    "CPU ms",
    "wall ms",
)


def announcer(out: Console) -> Announce:
    """Says on a console which point begins."""

    @contextmanager
    def shown(point: Point, number: int, of: int) -> Iterator[Listener]:
        out.print(f"[bold]{escape(plain(point.label))}[/] (point {number} of {of})")
        with TrainingProgress(out) as progress:
            yield progress

    def announce(point: Point, number: int, of: int) -> AbstractContextManager[Listener]:
        return shown(point, number, of)

    return announce


def cells(row: Row, settings: tuple[str, ...]) -> tuple[str, ...]:
    """One row: model, settings, then ``COLUMNS``."""
    return (
        plain(row.model),
        *(plain(row.settings.get(name, "-")) for name in settings),
        row.status,
        mib(row.step_peak_bytes),
        "-" if row.analytic_step_peak_bytes is None else mib(row.analytic_step_peak_bytes),
        mib(row.first_step_peak_bytes),
        mib(row.growth_peak_bytes),
        "-" if row.params_bytes is None else mib(row.params_bytes),
        _ms(row.cpu_ns),
        _ms(row.wall_ns),
    )


def show(sweep: Sweep, out: Console) -> None:
    """Print the table, what failed and why, and where the files lie."""
    table = Table(title="memory in MiB", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("model")
    for name in sweep.settings:
        table.add_column(escape(plain(name)), justify="right")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "status" else "right")
    for row in sweep.rows:
        table.add_row(*(escape(cell) for cell in cells(row, sweep.settings)))
    print_whole(table, out)
    for row in sweep.rows:
        if row.error is not None:
            text = escape(plain(f"{row.label}: {row.error}"))
            out.print(f"  [red]{row.status:<12}[/] {text}", soft_wrap=True)
    if len(sweep.rows) < sweep.n_points:
        left = f"{len(sweep.rows)} of {sweep.n_points} points were trained"
        out.print(f"  [yellow]{'note':<12}[/] {left}", soft_wrap=True)
    folder = Path(sweep.folder)
    files = ",".join(path.name for path in sorted(folder.glob("sweep.*")))
    out.print(f"  {'files':<12} {escape(str(folder))}/{{{files}}}", soft_wrap=True)


def page(sweep: Sweep) -> bytes:
    """A page that needs no other file; every name in it is shown as text."""
    environment = templates(jinja2.PackageLoader("foxbench.sweep"))
    made = environment.get_template("sweep.html").render(
        sweep=sweep,
        columns=("model", *sweep.settings, *COLUMNS),
        n_text=1,
        status_column=1 + len(sweep.settings),
        rows=[(row, cells(row, sweep.settings)) for row in sweep.rows],
        svg=Markup(plot.svg(sweep)) if sweep.rows else None,
        how=sweep.provenance,
    )
    return made.encode("utf-8", errors="replace")


def _ms(value_ns: int | None) -> str:
    return MISSING if value_ns is None else f"{value_ns / 1e6:,.1f}"
