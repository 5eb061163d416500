"""Starts ``foxbench leak`` as users do, and reads what it left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from foxbench.leak import result

ROOT = Path(__file__).resolve().parents[3]
PYTHONPATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

#: As the installed command does it: the current folder is not on the search path.
COMMAND = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from foxbench.cli.main import main; sys.exit(main())"
)


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "leak", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def leak(folder, *arguments):
    """Exit code, stdout and stderr."""
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


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
