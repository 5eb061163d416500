"""A validation as one page that needs no other file and no network."""

from __future__ import annotations

from pathlib import Path

import jinja2

from foxbench.budget.reports import words
from foxbench.budget.result import Row, Validation
from foxbench.errors import FoxbenchError
from foxbench.profile import result as profile_result
from foxbench.profile.page import Plot, drawn, templates
from foxbench.text import plain


def make(validation: Validation) -> bytes:
    """The page, UTF-8; every name in it is shown as text, whatever it holds."""
    environment = templates(jinja2.PackageLoader("foxbench.budget.reports"))
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
    directory = Path(row.run)
    try:
        profile = profile_result.read(directory / "profile.json")
    except FoxbenchError as error:
        return Plot(None, plain(error.what))
    return drawn(profile, directory, line_bytes(row, profile), row.name)


def line_bytes(row: Row, profile: profile_result.Profile) -> int | None:
    """Where the budget lies in a plot of the resident set; a step's has no one height there."""
    if row.budget_bytes is None or row.device != "host":
        return None
    if row.covers == "whole":
        return row.budget_bytes
    grown = profile_result.growth(profile.phases)
    return row.budget_bytes + grown[0] if row.covers == "growth" and grown else None
