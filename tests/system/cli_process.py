"""Starts the ``foxbench`` command as users do, in a folder of theirs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: As the installed command does it: the current folder is not on the search path.
COMMAND = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from foxbench.cli.main import main; sys.exit(main())"
)


def start(folder, *words, **environment):
    """A running ``foxbench WORDS``."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def foxbench(folder, *words, **environment):
    """Exit code, stdout and stderr."""
    process = start(folder, *words, **environment)
    out, err = process.communicate(timeout=500)
    return process.returncode, out, err
