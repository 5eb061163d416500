"""Helpers of the tests of ``foxbench run``: commands with known needs, and the figures of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from foxbench.sampler.launcher import launcher_path

MIB = 1 << 20
#: What a bare Python adds to what a script holds.
PYTHON_BYTES = 16 * MIB

#: ``hold(n)`` maps and touches n bytes; ``share`` does so in memory that children share.
PRELUDE = """
import ctypes, mmap, os, signal, sys, time
MIB = 1 << 20
def hold(n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
    m = mmap.mmap(-1, n, flags=flags)
    for at in range(0, n, 4096):
        m[at] = 1
    return m
"""


def python(body: str) -> list[str]:
    """A command that runs a script with ``hold`` at hand, without site packages."""
    return [sys.executable, "-I", "-S", "-c", PRELUDE + body]


def launch(*arguments: str, timeout: float = 120, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the launcher with these arguments."""
    how.setdefault("capture_output", True)
    return subprocess.run([launcher_path(), *arguments], timeout=timeout, check=False, **how)


def figures(
    path: Path, command: list[str], *options: str, code: int = 0, **how: Any
) -> dict[str, Any]:
    """The JSON of a run, having checked the exit code; the file lies in the folder ``path``."""
    target = path / "figures.json"
    done = launch("--quiet", "--json", str(target), *options, "--", *command, **how)
    assert done.returncode == code, (done.returncode, done.stderr)
    read: dict[str, Any] = json.loads(target.read_text())
    return read


def clean_environment() -> dict[str, str]:
    """Ours without what would change how a child measures or allocates."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "FOXBENCH_"))}
