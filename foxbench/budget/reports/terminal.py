"""A validation for a terminal: MiB here, bytes in the JSON."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.budget.reports import words
from foxbench.budget.result import Row, Validation
from foxbench.profile.report import print_whole
from foxbench.text import plain

#: Names alone are folded.
_NAME_WIDTH = (14, 32)

_COLOURS = {"ok": "green", "over_budget": "red", "not_measured": "yellow"}
_VERDICT_COLOURS = {"ok": "green", "over_budget": "red", "incomplete": "yellow"}


def show(validation: Validation, out: Console) -> None:
    """Print the table, what it cannot say, what fits together and the verdict."""
    print_whole(table(validation), out)
    for row in validation.models:
        for label, text in words.notes(row):
            _line(out, label, f"{plain(row.name)}: {text}")
    for i, text in enumerate(words.together(validation.coresidence, validation.device)):
        _line(out, "" if i else "together", text)
    for label, text in words.facts(validation):
        _line(out, label, text)
    _line(out, "files", validation.folder)
    colour = _VERDICT_COLOURS[validation.verdict]
    out.print(f"  {'verdict':<12} [{colour}]{words.VERDICTS[validation.verdict]}[/]")


def table(validation: Validation) -> Table:
    """One row a model."""
    made = Table(
        title=f"memory of the {validation.device} in MiB",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for i, name in enumerate(words.COLUMNS):
        text = i < words.N_TEXT or i == words.STATUS_COLUMN
        made.add_column(name, justify="left" if text else "right", overflow="fold", no_wrap=i > 0)
    for row in validation.models:
        made.add_row(*_cells(row))
    return made


def _cells(row: Row) -> list[str]:
    cells = [escape(cell) for cell in words.cells(row)]
    colour = _COLOURS.get(row.status, "red")
    if row.status == "ok" and row.budget_bytes is None:
        colour = "dim"
    cells[words.STATUS_COLUMN] = f"[{colour}]{cells[words.STATUS_COLUMN]}[/]"
    return cells


def _line(out: Console, label: str, text: str) -> None:
    out.print(f"  {label:<12} {escape(text)}", soft_wrap=True)
