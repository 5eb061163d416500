"""One run after the other, each kept at once, and all of them in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from foxbench import jsonfile
from foxbench.errors import FoxbenchError
from foxbench.jsonfile import write_atomically
from foxbench.profile import plan, report, result, runner
from foxbench.profile.progress import TrainingProgress
from foxbench.profile.result import Profile


@dataclass(frozen=True)
class Run:
    """A profile and the folder of its files."""

    profile: Profile
    directory: Path


def run(
    requests: Sequence[plan.Request],
    out: Path,
    timeout_s: float | None,
    progress: Console,
    console: Console,
) -> tuple[Run, ...]:
    """Train as each request says, and print each report as soon as it is there.

    A run that an interrupt to this process ended is the last one.

    Parameters
    ----------
    requests : sequence of Request
        Checked with :func:`foxbench.profile.plan.check`.
    out : Path
        Each run gets a new folder in it.
    timeout_s : float or None
        For each run.
    progress, console : Console
        Where the progress goes and where the tables.
    """
    found: list[Run] = []
    for request in requests:
        directory = runner.make_directory(out.absolute(), request.model)
        spec = plan.spec(request, directory)
        if len(requests) > 1:
            name = escape(request.model)
            progress.print(f"[bold]{name}[/] ({len(found) + 1} of {len(requests)})")
        with TrainingProgress(progress) as listen:
            profile = runner.run(spec, directory, timeout_s, listen)
        found.append(Run(profile, directory))
        undrawn = _draw(profile, directory)
        report.show(profile, directory, console)
        if undrawn is not None:
            console.print(f"  [yellow]{'note':<12}[/] {escape(undrawn)}", soft_wrap=True)
        if result.interrupted(profile):
            break
    if len(requests) > 1:
        report.show_all([one.profile for one in found], console)
    return tuple(found)


def exit_code(runs: Sequence[Run]) -> int:
    """The first one that is not 0."""
    return next((one.profile.exit_code for one in runs if one.profile.exit_code), 0)


def encode(runs: Sequence[Run]) -> bytes:
    """A profile as JSON; of several runs an array of them."""
    if len(runs) == 1:
        return jsonfile.encode(runs[0].profile)
    return jsonfile.encode([one.profile for one in runs])


def write_page(runs: Sequence[Run], path: Path) -> None:
    """Write one page of all runs."""
    from foxbench.profile import page

    write_atomically(path, page.make([(one.profile, one.directory) for one in runs]))


def _draw(profile: Profile, directory: Path) -> str | None:
    """Draw the timeline and the page beside the figures; failing costs no run, and says why."""
    timeline = directory / "timeline.parquet"
    try:
        from foxbench.profile import page, plot
        from foxbench.sampler import timeline_file

        if timeline.is_file():
            limit_bytes = profile.limit.bytes if profile.limit is not None else None
            plot.write_png(
                timeline_file.read(timeline),
                profile.phases,
                limit_bytes,
                profile.model,
                directory / "timeline.png",
            )
        write_atomically(directory / "profile.html", page.make([(profile, directory)]))
    except (FoxbenchError, OSError, ImportError, MemoryError) as error:
        return f"the pictures could not be made: {error}"
    return None
