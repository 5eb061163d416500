"""Profiles as one page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from foxbench.errors import FoxbenchError
from foxbench.profile import report
from foxbench.profile.plot import timeline_svg
from foxbench.profile.result import Profile
from foxbench.sampler import timeline_file
from foxbench.text import plain


@dataclass(frozen=True)
class Plot:
    """One run's timeline.

    Attributes
    ----------
    svg : Markup or None
        None where there is none to draw.
    missing : str
        Why not.
    """

    svg: Markup | None
    missing: str


def templates(*loaders: jinja2.BaseLoader) -> jinja2.Environment:
    """Templates of ``loaders`` and of this package, which every page has its style from.

    Whatever a name holds, it is shown as text.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*loaders, jinja2.PackageLoader("foxbench.profile")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = plain
    environment.filters["lines"] = lambda text: "\n".join(map(plain, text.splitlines()))
    return environment


def make(runs: Sequence[tuple[Profile, Path]]) -> bytes:
    """The page of some runs, UTF-8.

    Parameters
    ----------
    runs : sequence of (Profile, Path)
        Each with the folder that may hold its ``timeline.parquet``.
    """
    page = (
        templates()
        .get_template("profile.html")
        .render(
            runs=[(profile, _plot(profile, directory)) for profile, directory in runs],
            report=report,
            mib=report.mib,
        )
    )
    return page.encode("utf-8", errors="replace")


def drawn(profile: Profile, directory: Path, line_bytes: int | None, title: str) -> Plot:
    """The timeline in a run's folder, with its phases and a line at ``line_bytes``."""
    path = directory / "timeline.parquet"
    if not path.is_file():
        return Plot(None, "the samples of a training that is killed die with it")
    try:
        table = timeline_file.read(path)
    except FoxbenchError as error:
        return Plot(None, plain(error.what))
    return Plot(Markup(timeline_svg(table, profile.phases, line_bytes, title)), "")


def _plot(profile: Profile, directory: Path) -> Plot:
    limit_bytes = None if profile.limit is None else profile.limit.bytes
    return drawn(profile, directory, limit_bytes, profile.model)
