"""``foxbench run`` between a shell, a terminal and its command: what neither must notice."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from run_command import MIB, launch, python

from foxbench.sampler.launcher import launcher_path


def until(what: str, holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for ``holds()``; fails with ``what`` after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def drain(terminal: int) -> bytes:
    """All that comes out of a pseudo-terminal until its other end closes."""
    said = b""
    try:
        while True:
            said += os.read(terminal, 1000)
    except OSError:
        return said


# ---- what stood there before ---------------------------------------------------------------


def test_a_child_that_stood_there_before_is_neither_followed_nor_counted(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    body = f"""
if os.fork() == 0:
    x = hold(96 * MIB)
    os.execv("/bin/sh", ["sh", "-c", "sleep 0.3"])   # ends while the command runs
hold(96 * MIB).close()
os.execv({launcher_path()!r}, ["foxbench-run", "-q", "--json", {str(target)!r}, "sleep", "0.8"])
"""
    subprocess.run(python(body), check=True, timeout=60)
    found = json.loads(target.read_text())
    assert found["peak_single_comm"] == "sleep"
    assert found["peak_tree_rss_bytes"] < 4 * MIB
    assert (found["n_processes"], found["orphans_reaped"]) == (1, 0)
    assert found["minor_faults"] < 1000  # each of those MiB alone is 256


def test_a_command_that_kills_its_group_is_hit_once() -> None:
    body = """
n = 0
def count(number, frame):
    global n
    n += 1
signal.signal(signal.SIGUSR1, count)
os.kill(0, signal.SIGUSR1)
time.sleep(0.3)
print(n)
"""
    assert launch("-q", "--", *python(body), start_new_session=True).stdout == b"1\n"


def test_an_alarm_that_outlives_exec_reaches_the_command() -> None:
    command = [launcher_path(), "-q", "--", "sleep", "30"]
    body = f"signal.alarm(1); os.execv({launcher_path()!r}, {command!r})"
    done = subprocess.run(python(body), timeout=20)
    assert done.returncode == 128 + signal.SIGALRM


def test_a_hangup_that_nohup_ignores_ends_no_watching(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    watched = subprocess.Popen(["sleep", "30"])
    options = ["-q", "--json", str(target), "--attach", str(watched.pid)]
    body = (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        f"os.execv({launcher_path()!r}, {['foxbench-run', *options]!r})"
    )
    watcher = subprocess.Popen(python(body))
    try:
        comm = Path(f"/proc/{watcher.pid}/comm")
        until("the launcher starts", lambda: comm.read_text() == "foxbench-run\n")
        time.sleep(0.3)  # it has its own idea of signals only some moments after
        watcher.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert watcher.poll() is None
    finally:
        watched.kill()
        watched.wait()
    assert watcher.wait(30) == 0
    assert json.loads(target.read_text())["status"] == "ok"


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--json", "-o"])
@pytest.mark.parametrize("name", ["/dev/stdout", "the file itself"])
def test_a_report_into_the_commands_own_output_replaces_none_of_it(
    option: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "both"
    target = str(path) if name == "the file itself" else name
    with path.open("wb") as file:
        done = launch("--quiet", "--format", "json", option, target, "echo", "said",
                      capture_output=False, stdout=file)  # fmt: skip
    assert done.returncode == 0
    said, _, report = path.read_text().partition("\n")
    assert said == "said"
    assert json.loads(report)["exit_code"] == 0
    assert list(tmp_path.iterdir()) == [path]


def test_no_file_of_the_current_folder_stands_in_for_a_module(tmp_path: Path) -> None:
    for name in ("argparse", "numpy", "foxbench"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('an impostor')\n")
    options = ["-q", "--python", sys.executable, "--timeline", "-t.parquet"]
    done = launch(*options, "sleep", "0.1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "-t.parquet").read_bytes()[:4] == b"PAR1"


def test_a_name_that_a_terminal_would_obey_is_shown_defused() -> None:
    body = r"""
ctypes.CDLL(None).prctl(15, b'a\x1b[31m\n', 0, 0, 0)
x = hold(32 * MIB)
time.sleep(0.1)
"""
    said = launch("--", *python(body)).stderr
    assert b"(a?[31m?, pid " in said
    assert b"\x1b" not in said.partition(b"  peak ")[2]


# ---- the terminal ----------------------------------------------------------------------------

JOB = """
shell = os.getpid()
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
status = os.waitpid(job, os.WUNTRACED)[1]
assert os.WIFSTOPPED(status), status
(command,) = open(f"/proc/{job}/task/{job}/children").read().split()
for _ in range(1000):
    state = open(f"/proc/{command}/stat").read().rpartition(")")[2].split()[0]
    if state == "T":
        break
    time.sleep(0.01)
os.tcsetpgrp(0, shell)
print("stopped", state, flush=True)
time.sleep(0.2)
os.tcsetpgrp(0, job)
os.kill(-job, signal.SIGCONT)
status = os.waitpid(job, os.WUNTRACED)[1]
os.tcsetpgrp(0, shell)
print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""


def test_ctrl_z_stops_both_and_the_shells_fg_continues_both(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    body = "print('up', flush=True); time.sleep(0.3); sys.exit(6)"
    options = ["-q", "--json", str(target), "--"]
    pid, terminal = pty.fork()
    if pid == 0:
        shell = python(JOB)
        os.execv(shell[0], [*shell, launcher_path(), *options, *python(body)])
    said = b""
    while b"up" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x1a")
    said = drain(terminal)
    os.waitpid(pid, 0)
    assert b"stopped T" in said
    assert b"ended 6" in said
    assert json.loads(target.read_text())["exit_code"] == 6


def test_a_terminal_held_by_ctrl_s_holds_up_no_run(tmp_path: Path) -> None:
    report = tmp_path / "report"
    pid, terminal = pty.fork()
    if pid == 0:
        command = [launcher_path(), "-o", str(report), "sh", "-c", "echo up; sleep 2; exit 4"]
        os.execv(command[0], command)
    said = b""
    while b"up" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x13")
    ended = [0, 0]

    def has_ended() -> bool:
        ended[:] = os.waitpid(pid, os.WNOHANG)
        return ended[0] == pid

    until("it ends with its terminal held", has_ended)
    assert os.waitstatus_to_exitcode(ended[1]) == 4
    assert "exit code 4" in report.read_text()


def test_no_progress_is_shown_while_a_password_is_asked_for() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(launcher_path(), [launcher_path(), "sh", "-c", "stty -echo; sleep 1.5"])
    said = drain(terminal)
    os.waitpid(pid, 0)
    assert b"resident in one process" in said
    assert b"MiB now" not in said
