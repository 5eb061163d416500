"""``foxbench doctor``: what can be measured here, and what mends the rest."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.sampler.doctor.examine import Examination, examine

_COLOURS = {"ok": "green", "limited": "yellow", "missing": "red", "info": "dim"}

#: Width of what goes to a file or a pipe, where there is no terminal to ask.
_PLAIN_WIDTH = 100


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def command(as_json: bool) -> int:
    """Say which sources of measurement work here, why one does not, and what mends it.

    \b
    Exit codes: 0 peaks are exact, 3 peaks can only be sampled, 5 nothing can be measured.
    """
    found = examine()
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        _show(found)
    return found.exit_code


def _show(found: Examination) -> None:
    out = Console(highlight=False)
    if out.is_terminal:
        _print(found, out)
        return
    plain = Console(highlight=False, width=_PLAIN_WIDTH)
    with plain.capture() as text:
        _print(found, plain)
    # A table pads its cells; in a file that is white space at the ends of lines.
    click.echo("\n".join(line.rstrip() for line in text.get().splitlines()))


def _print(found: Examination, out: Console) -> None:
    out.print(f"[bold]{escape(found.summary)}[/]", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for group, checks in found.groups.items():
        table.add_row("")
        table.add_row(f"[bold]{group}[/]")
        for check in checks:
            status = f"[{_COLOURS[check.status]}]{check.status}[/]"
            name = f"  {check.name.replace('_', ' ')}"
            table.add_row(name, status, escape(check.finding))
            if check.remedy:
                table.add_row("", "", f"[italic]mend: {escape(check.remedy)}[/]")
    out.print(table)
