"""Starts ``foxbench leak`` as users do, and reads what it left behind."""

from pathlib import Path
from typing import NamedTuple

import cli_process

from foxbench.leak import result


def start(folder, *arguments):
    return cli_process.start(folder, "leak", *arguments)


def leak(folder, *arguments):
    """Exit code, stdout and stderr."""
    return cli_process.foxbench(folder, "leak", *arguments)


class Run(NamedTuple):
    """How one of several ended, and where it ran."""

    folder: Path
    code: int
    out: str
    err: str


def leaks(jobs):
    """``Run`` of each of ``{name: (folder, arguments)}``, two at a time."""
    running, ended = {}, {}

    def finish():
        name, process = next(iter(running.items()))
        del running[name]
        out, err = process.communicate(timeout=300)
        ended[name] = Run(jobs[name][0], process.returncode, out, err)

    for name, (folder, arguments) in jobs.items():
        if len(running) == 2:
            finish()
        running[name] = start(folder, *arguments)
    while running:
        finish()
    return ended


def saved(folder):
    """The one result that the run left behind."""
    (directory,) = (folder / "foxbench-runs").iterdir()
    return result.read(directory / "leak.json")


def trend(found, gauge):
    """What the rule found in one gauge."""
    return next(one.trend for one in found.verdict.trends if one.gauge == gauge)
