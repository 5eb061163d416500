"""The compiled launcher, ``foxbench-run``: where it lies, and becoming it.

Imports nothing that the interpreter has not loaded at its start: ``foxbench run`` is on the clock.
"""

from __future__ import annotations

import os
import sys

#: The launcher's code for a fault that is foxbench's own and not the command's.
EXIT_OURS = 125


def launcher_path() -> str:
    """Where the launcher of this installation lies, whether it is there or not."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "foxbench-run")


def become_launcher(arguments: list[str]) -> int:
    """Replace this process by the launcher, which keeps its pid, terminal and descriptors.

    A Python process in between would have to pass on every signal, and would stay in memory
    beside what is measured.

    Parameters
    ----------
    arguments : list of str
        What stands behind ``foxbench run``.

    Returns
    -------
    int
        125, having said why, when the launcher cannot be executed; else it does not return.
    """
    path = launcher_path()
    try:
        os.execv(path, [path, "--python", sys.executable or "python3", *arguments])
    except OSError as error:
        if not sys.platform.startswith("linux"):
            remedy = "it reads /proc: run it on Linux, or in a Linux container"
        else:
            remedy = "build it: python -m pip install -e . in the repository, or install the wheel"
        sys.stderr.write(
            f"foxbench run: the launcher cannot be executed: {error.strerror}: {path}\n"
            f"  mend: {remedy}\n"
        )
        return EXIT_OURS
