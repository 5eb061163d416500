"""Where the reports go: refused before the training, written after it, one lost costs no other."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from foxbench.budget.reports import html, json, markdown, terminal
from foxbench.budget.result import Validation
from foxbench.errors import EnvironmentFault, FoxbenchError, UsageError
from foxbench.jsonfile import write_atomically
from foxbench.profile.plan import check_writable

#: The page is the one that takes longest and reads most: last.
FORMATS: dict[str, Callable[[Validation], bytes]] = {
    "--json": json.make,
    "--markdown": markdown.make,
    "--html": html.make,
}


@dataclass(frozen=True)
class Targets:
    """Where each report goes.

    Attributes
    ----------
    files : dict of str to Path
        By the option that named each.
    stdout : str or None
        The option whose report goes to stdout; the table then goes to stderr.
    """

    files: dict[str, Path]
    stdout: str | None


def targets(asked: Mapping[str, Path | None]) -> Targets:
    """Refuse now what could not be written after minutes of training.

    Parameters
    ----------
    asked : dict of str to Path or None
        By option; ``-`` stands for stdout.

    Raises
    ------
    UsageError
        A folder that is missing or refuses, one file or stdout under two options.
    """
    files: dict[str, Path] = {}
    stdout: str | None = None
    seen: dict[str, str] = {}
    for option, path in asked.items():
        if path is None:
            continue
        to_stdout = str(path) == "-"
        first = seen.setdefault("-" if to_stdout else str(path.resolve()), option)
        if first != option:
            raise UsageError(f"{first} and {option} both name {path}", "name a file for each")
        if to_stdout:
            stdout = option
            continue
        files[option] = path
        if not _is_special(path):
            check_writable(path)
        elif not os.access(path, os.W_OK):
            raise UsageError(f"cannot write {path}", "name a file you may write to")
    return Targets(files, stdout)


def deliver(validation: Validation, where: Targets, out: Console) -> None:
    """Write every report and show the table, whatever becomes of one of them.

    Raises
    ------
    EnvironmentFault
        At the end: names each file that could not be written.
    """
    lost: list[str] = []
    try:
        for option, path in where.files.items():
            try:
                _write(path, FORMATS[option](validation))
            except FoxbenchError as error:
                lost.append(error.what)
            except OSError as error:
                lost.append(f"cannot write {path}: {error.strerror}")
    finally:
        terminal.show(validation, out)
    if where.stdout is not None:
        click.echo(FORMATS[where.stdout](validation), nl=False)
    if lost:
        raise EnvironmentFault(
            "; ".join(lost),
            f"make room or name another file; what was measured is in {validation.folder}",
        )


def _write(path: Path, content: bytes) -> None:
    if not _is_special(path):
        write_atomically(path, content)
        return
    # A pipe or a device, as of >(jq .): a file moved over it would take its place.
    with path.open("wb") as file:
        file.write(content)


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
