"""A validation as one page that needs no other file and no network."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from foxbench.budget.reports import words
from foxbench.budget.result import Row, Validation
from foxbench.errors import FoxbenchError
from foxbench.profile import result as profile_result
from foxbench.sampler import timeline_file


@dataclass(frozen=True)
class Plot:
    """One run's timeline.

    Attributes
    ----------
    svg : Markup or None
        None where no timeline was kept.
    missing : str
        Why not.
    """

    svg: Markup | None
    missing: str


def make(validation: Validation) -> bytes:
    """The page, UTF-8; every name in it is shown as text, whatever it holds."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("foxbench.budget.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("validation.html").render(
        validation=validation,
        words=words,
        rows=[(row, words.cells(row), words.notes(row), plot(row)) for row in validation.models],
    )
    return page.encode("utf-8", errors="replace")


def plot(row: Row) -> Plot:
    """The timeline of a row's run, with its phases and the budget's line."""
    if row.run is None:
        return Plot(None, "it was not trained")
    path = Path(row.run) / "timeline.parquet"
    if not path.exists():
        return Plot(None, "the samples of a training that is killed die with it")
    try:
        timeline_svg = importlib.import_module("foxbench.profile.plot").timeline_svg
    except ImportError:
        return Plot(None, "this foxbench draws none")
    try:
        profile = profile_result.read(path.with_name("profile.json"))
        svg = timeline_svg(
            timeline_file.read(path),
            profile.phases,
            line_bytes(row, profile),
            words.plain(row.name),
        )
    except FoxbenchError as error:
        return Plot(None, words.plain(error.what))
    return Plot(Markup(svg), "")


def line_bytes(row: Row, profile: profile_result.Profile) -> int | None:
    """Where the budget lies in a plot of the resident set; a step's has no one height there."""
    if row.budget_bytes is None or row.device != "host":
        return None
    if row.covers == "whole":
        return row.budget_bytes
    grown = profile_result.growth(profile.phases)
    return row.budget_bytes + grown[0] if row.covers == "growth" and grown else None
