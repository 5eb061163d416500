"""The leak test of any command: its resident sets under the launcher, then the weaker verdict."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

from foxbench.errors import EnvironmentFault, UsageError
from foxbench.leak import readings, result, verdict
from foxbench.leak.result import LeakResult
from foxbench.sampler import timeline_file
from foxbench.sampler.launcher import launcher_path

#: A minimum over a block of the time needs no more.
_HZ = 100

#: What the command gets between SIGTERM and SIGKILL.
GRACE_S = 5.0


class _Stopped(Exception):
    """SIGINT or SIGTERM came to this process."""


def check(command: Sequence[str]) -> None:
    """Refuse what cannot be started.

    Raises
    ------
    UsageError
        No such program.
    EnvironmentFault
        The launcher is not built.
    """
    if shutil.which(command[0]) is None:
        raise UsageError(f"no program {command[0]!r}", "correct what stands behind --")
    if not Path(launcher_path()).exists():
        raise EnvironmentFault(
            f"the launcher is not there: {launcher_path()}",
            "build it: python -m pip install -e . in the repository, or install the wheel",
        )


def run(
    command: Sequence[str],
    directory: Path,
    budget_bytes: int | None = None,
    for_s: float | None = None,
    timeout_s: float | None = None,
    output: Any = None,
) -> LeakResult:
    """Run a command and judge the sum of its processes' resident sets.

    Parameters
    ----------
    command : sequence of str
    directory : Path
        Gets ``timeline.parquet`` and ``leak.json``.
    budget_bytes : int, optional
    for_s : float, optional
        The command is ended by SIGTERM after so long, which is no failure.
    timeout_s : float, optional
        The same, and is one; status ``timeout``.
    output : file, optional
        Where the command's stdout goes; this process's own by default.
    """
    started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    timeline = directory / "timeline.parquet"
    own = ["--python", sys.executable, "--quiet", "--hz", str(_HZ), "--timeline", str(timeline)]
    with _signals_raise():
        process = subprocess.Popen([launcher_path(), *own, "--", *command], stdout=output)
        cause = _wait(process, for_s, timeout_s)
    code = process.returncode
    followed = None
    if timeline.exists():
        followed = readings.from_timeline(timeline_file.read(timeline))
    status, error = _outcome(cause, code, timeout_s)
    found = LeakResult(
        schema_version=result.SCHEMA_VERSION,
        kind="command",
        model=None,
        files=(),
        config=None,
        command=tuple(command),
        started_at=started_at,
        status=status,
        error=error,
        run_exit_code=code if code >= 0 else 128 - code,
        verdict=verdict.of_command(followed, budget_bytes),
        provenance=None,
    )
    result.write(found, directory / "leak.json")
    return found


def _outcome(cause: str | None, code: int, timeout_s: float | None) -> tuple[str, str | None]:
    """Status of the run, and why it is not ``ok``."""
    if cause == "for":
        return "ok", None
    if cause == "timeout":
        return "timeout", f"the command was ended after the {timeout_s:g} s that --timeout allows"
    if cause is not None:
        return "failed", f"{cause} ended it"
    return ("ok", None) if code == 0 else ("failed", f"the command left with exit code {code}")


def _wait(
    process: subprocess.Popen[bytes], for_s: float | None, timeout_s: float | None
) -> str | None:
    """Wait for the end; ``for``, ``timeout`` or the signal when it came from this side."""
    limits = [(s, name) for s, name in ((for_s, "for"), (timeout_s, "timeout")) if s is not None]
    wait_s, cause = min(limits, default=(None, None))
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return cause
    except _Stopped as stopped:
        if str(stopped) == "SIGINT":
            # The terminal has sent it to the command as well, which may have things to put away.
            with contextlib.suppress(subprocess.TimeoutExpired, _Stopped):
                process.wait(GRACE_S)
        _end(process)
        return str(stopped)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which the launcher forwards before it writes its files.

    SIGKILL would end the launcher alone; a command that ignores SIGTERM gets it itself.
    """
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
        return
    for pid in _children(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_bytes().rpartition(b")")[2].split()[1]) == parent:
                yield int(path.parent.name)


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Let SIGINT and SIGTERM end the waiting and not this process: what was seen is judged."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def handler(number: int, _frame: FrameType | None) -> None:
        raise _Stopped(signal.Signals(number).name)

    old = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)
