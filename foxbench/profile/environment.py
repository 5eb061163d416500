"""The environment of the training process: one thread, a known allocator, nothing inherited
that would change the figures.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import foxbench
from foxbench.sampler.allocator import QUIET_ENV

#: Variables that change how much memory a Python process uses, or that trace it.
_DROPPED = (
    "GLIBC_TUNABLES",
    "PYTHONMALLOC",
    "PYTHONMALLOCSTATS",
    "PYTHONTRACEMALLOC",
    "PYTHONDEVMODE",
    "PYTHONFAULTHANDLER",
    "PYTHONSTARTUP",
)

#: Every library that starts a pool of threads of its own.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


#: What the child is started with.  Not ``-m``, which puts the current folder in front of the
#: search path (PYTHONSAFEPATH mends that from Python 3.11 on only): a folder that happens to hold
#: a torch.py or a source tree of foxbench must shadow nothing.
_BOOTSTRAP = """import sys
if sys.path[0] == "":
    del sys.path[0]
from foxbench.profile.worker import main
sys.exit(main(sys.argv[1:]))"""


def child_command(spec_path: str) -> list[str]:
    """The command line of the training process."""
    return [sys.executable, "-c", _BOOTSTRAP, spec_path]


def child_environment(
    quiet_allocator: bool, threads: int, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Environment variables for a measured process.

    Parameters
    ----------
    quiet_allocator : bool
        Freed memory goes back to the kernel at once: repeatable peaks for more CPU time.
    threads : int
    base : mapping, optional
        Where to start from; ``os.environ`` by default.
    """
    base = os.environ if base is None else base
    env = {k: v for k, v in base.items() if k not in _DROPPED and not k.startswith("MALLOC_")}
    env.update(dict.fromkeys(_THREADS, str(threads)))
    env["PYTHONHASHSEED"] = "0"
    # Arrow's own allocator keeps what it has freed, 16 MiB after reading half a MiB of bars, and
    # no setting of malloc reaches it.
    env["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    if quiet_allocator:
        env.update(QUIET_ENV)
    root = str(Path(str(foxbench.__file__)).resolve().parent.parent)
    if root not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        # Run from a source tree: the child must import the same foxbench as this process.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [root, env.get("PYTHONPATH")]))
    return env
