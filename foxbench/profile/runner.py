"""The parent: starts the training process, follows its log, and keeps what was measured
whatever becomes of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

from foxbench.errors import EnvironmentFault
from foxbench.profile import assemble, limit, oom, result
from foxbench.profile.arithmetic import analytic
from foxbench.profile.environment import child_command, child_environment
from foxbench.profile.log import LogReader
from foxbench.profile.result import Profile
from foxbench.profile.spec import Spec

#: How often the log is looked at; only the display waits for it.
POLL_S = 0.1

#: What a process gets between SIGTERM and SIGKILL.
GRACE_S = 5.0

Listener = Callable[[dict[str, Any]], None]


class _Terminated(Exception):
    """SIGTERM came to this process."""


def make_directory(parent: Path, model: str) -> Path:
    """Make a new folder for one run, named by UTC time and model; an old one is never reused.

    Raises
    ------
    EnvironmentFault
        The place cannot be written to.
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    base = f"{stamp}-{''.join(c if c.isalnum() else '-' for c in model)}"
    for attempt in range(1, 1000):
        path = parent / (base if attempt == 1 else f"{base}-{attempt}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError:
            if not parent.is_dir():
                raise EnvironmentFault(
                    f"{parent} is not a folder", "name another with --out DIR"
                ) from None
        except OSError as error:
            raise EnvironmentFault(
                f"cannot make {path}: {error.strerror}", "name a folder with --out DIR"
            ) from error
        else:
            return path
    raise EnvironmentFault(f"{parent} holds a thousand runs of this second")


def run(
    spec: Spec, directory: Path, timeout_s: float | None = None, listen: Listener | None = None
) -> Profile:
    """Run the spec in a process of its own and return what was measured.

    Parameters
    ----------
    spec : Spec
        Its ``log`` lies in ``directory``.
    directory : Path
        Gets ``spec.json``, ``log.jsonl``, ``timeline.parquet``, ``output.txt``, ``profile.json``.
    timeout_s : float, optional
        Wall-clock seconds after which the process is ended; status ``timeout``.
    listen : callable, optional
        Called with every record of the log as it appears, and meanwhile with ``{"kind": "rss",
        "rss_bytes": …}`` whenever the resident set seen from outside has changed.

    Returns
    -------
    Profile
        Also of a run that failed, was killed or interrupted: see its ``status``.
    """
    started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with limit.enclosure(spec.limit_bytes) as enclosure:
        spec = dataclasses.replace(spec, limit_kind=enclosure.kind)
        kills_before = oom.kills()
        process = _start(spec, directory, enclosure)
        follower = _Follower(process.pid, LogReader(spec.log), listen)
        cause = _follow(process, follower, timeout_s)
        follower.poll()
        end = assemble.End(
            returncode=process.returncode,
            cause=cause,
            oom_killed=enclosure.oom_kills() > 0 or oom.rose(kills_before, oom.kills()),
            seen_peak_bytes=follower.seen_peak_bytes,
            output_tail=_tail(directory / "output.txt"),
        )
    measured = assemble.profile(spec, follower.records, end, started_at)
    profile = dataclasses.replace(measured, analytic=analytic(spec))
    result.write(profile, directory / "profile.json")
    return profile


def _start(spec: Spec, directory: Path, enclosure: limit.Enclosure) -> subprocess.Popen[bytes]:
    """Start the training process inside its enclosure."""
    spec_path = directory / "spec.json"
    spec.save(spec_path)
    # Its output goes to a file: a warning of torch must not land in our table or JSON.
    with (directory / "output.txt").open("wb") as output:
        return subprocess.Popen(
            child_command(str(spec_path)),
            env=child_environment(spec.quiet_allocator, spec.threads),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its own children can be ended with it
            preexec_fn=enclosure.join,
        )


class _Follower:
    """Collects the log's records and watches the process from outside."""

    def __init__(self, pid: int, log: LogReader, listen: Listener | None) -> None:
        self.records: list[dict[str, Any]] = []
        self.seen_peak_bytes: int | None = None
        self._rss_bytes: int | None = None
        self._status = Path(f"/proc/{pid}/status")
        self._log = log
        self._listen = listen

    def poll(self) -> None:
        """Read what is new."""
        for record in self._log.poll():
            self.records.append(record)
            if self._listen:
                self._listen(record)
        # Read only: a reset of the mark from here would spoil the process's own figures.  What
        # is seen is a lower bound, of use when the process dies before it can say more.
        with contextlib.suppress(OSError):
            for line in self._status.read_bytes().splitlines():
                if line.startswith(b"VmHWM:"):
                    seen = int(line.split()[1]) * 1024
                    self.seen_peak_bytes = max(seen, self.seen_peak_bytes or 0)
                elif line.startswith(b"VmRSS:"):
                    self._tell_rss(int(line.split()[1]) * 1024)

    def _tell_rss(self, rss_bytes: int) -> None:
        """Let the listener know when it has changed; this is no record of the log."""
        if self._listen and rss_bytes != self._rss_bytes:
            self._listen({"kind": "rss", "rss_bytes": rss_bytes})
        self._rss_bytes = rss_bytes


def _follow(
    process: subprocess.Popen[bytes], follower: _Follower, timeout_s: float | None
) -> str | None:
    """Wait for the end; the cause is ``timeout``, ``SIGINT`` or ``SIGTERM`` when it came from
    this side, None when the process ended by itself.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        with _sigterm_raises():
            while True:
                follower.poll()
                wait = POLL_S if deadline is None else min(POLL_S, deadline - time.monotonic())
                if wait <= 0:
                    _end(process)
                    return "timeout"
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(wait)
                    return None
    except KeyboardInterrupt:
        _end(process)
        return "SIGINT"
    except _Terminated:
        _end(process)
        return "SIGTERM"
    except BaseException:
        _end(process)
        raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children: SIGTERM, some grace, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(GRACE_S if number == signal.SIGTERM else None)
        except subprocess.TimeoutExpired:
            continue
        return


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Let SIGTERM end the waiting and not this process, so that the figures get saved."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    old = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _tail(path: Path, n_bytes: int = 4096) -> str:
    """The end of what the process printed."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - n_bytes))
        return file.read().decode("utf-8", errors="replace").strip()
