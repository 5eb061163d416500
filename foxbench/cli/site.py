"""``foxbench site summary HTML_DIR``: the published memory page as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from foxbench.errors import DataError

#: The version of ``memory.json`` that this reads; see :mod:`foxbench.site.document`.
_SCHEMA_VERSION = 1


@click.group()
def command() -> None:
    """Read a published memory page in the terminal."""


@command.command()
@click.argument("html_dir", type=click.Path(path_type=Path))
def summary(html_dir: Path) -> None:
    """Print the newest figure of every benchmark, and the changes that still stand.

    HTML_DIR is the folder that `asv publish` wrote.
    """
    document = _read(html_dir / "memory.json")
    from foxbench.profile.report import console

    out = console()
    out.print(_table(document))
    for change in document["regressions"]:
        if change["standing"]:
            out.print(_regression(change), soft_wrap=True, markup=False)
    page = html_dir.absolute() / "memory.html"
    if page.is_file():
        out.print(f"page: {page}", soft_wrap=True, markup=False)


def _read(path: Path) -> dict[str, Any]:
    remedy = "publish first: asv publish, or make site"
    try:
        raw = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", remedy) from error
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}", remedy) from error
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if version != _SCHEMA_VERSION:
        raise DataError(
            f"{path}: schema_version is {version!r}, this foxbench reads {_SCHEMA_VERSION}",
            "publish again with this foxbench",
        )
    return dict(raw)


def _table(document: dict[str, Any]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    machines = {s["machine"] for s in document["series"]}
    environments = {s["environment"] for s in document["series"]}
    table = Table(title=f"{escape(document['project'])}: memory, MiB", title_justify="left")
    for name in ("benchmark", "machine", "environment"):
        if name == "benchmark" or len({"machine": machines}.get(name, environments)) > 1:
            table.add_column(name)
    for name in ("now", "noise ±", "vs previous", "vs best", "runs"):
        table.add_column(name, justify="right")
    for series in document["series"]:
        places = [series["machine"]] if len(machines) > 1 else []
        places += [series["environment"]] if len(environments) > 1 else []
        current = series["current"]
        # Only a measured value is a figure; anything else says what it is.
        measured = current["bytes"] is not None
        at_least = ">= " if series["method"] == "sampled" else ""
        table.add_row(
            escape(series["label"]),
            *(escape(place) for place in places),
            at_least + _mib(current["bytes"]) if measured else current["status"],
            _mib(series["noise_band"]["bytes"]),
            _change(series["change_vs_previous"]) if measured else "-",
            _change(series["change_vs_best"]) if measured else "-",
            str(len(series["points"])),
        )
    return table


def _change(change: dict[str, Any] | None) -> str:
    if change is None:
        return "-"
    if not change["outside_band"]:
        return "within noise"
    percent = "" if change["percent"] is None else f" ({change['percent']:+.1f} %)"
    return f"{change['bytes'] / 2**20:+,.2f}{percent}"


def _regression(change: dict[str, Any]) -> str:
    size = "" if change["bytes"] is None else f" {change['bytes'] / 2**20:+,.2f} MiB"
    provisional = ", provisional" if change["provisional"] else ""
    return f"regression: {change['label']}: {change['kind']}{size} at {change['commit'][:8]}" + (
        provisional
    )


def _mib(n_bytes: int | None) -> str:
    return "not measured" if n_bytes is None else f"{n_bytes / 2**20:,.2f}"
