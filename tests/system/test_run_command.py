"""``foxbench run``: exit codes, signals, streams, formats, files."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_command import MIB, PYTHON_BYTES, clean_environment, figures, launch, python

from foxbench.sampler.launcher import launcher_path

KEYS = [
    "schema_version",
    "status",
    "exit_code",
    "term_signal",
    "elapsed_ns",
    "user_ns",
    "system_ns",
    "peak_single_bytes",
    "peak_single_pid",
    "peak_single_comm",
    "peak_tree_rss_bytes",
    "peak_tree_pss_bytes",
    "peak_err_bytes",
    "peak_kind",
    "avg_rss_bytes",
    "minor_faults",
    "major_faults",
    "voluntary_ctxt_switches",
    "involuntary_ctxt_switches",
    "fs_inputs",
    "fs_outputs",
    "n_samples",
    "n_missed",
    "n_processes",
    "orphans_reaped",
    "sampler_cpu_ns",
    "self_bytes",
]


# ---- exit codes and streams ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 128 + 9),
        (["sh", "-c", "kill -SEGV $$"], 128 + 11),
        (["/no/such/program"], 127),
        (["no-such-program"], 127),
        (["/etc/passwd"], 126),
        (["/"], 126),
    ],
)
def test_the_exit_code_is_the_commands_own(command: list[str], code: int) -> None:
    assert launch("-q", "--", *command).returncode == code


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "no command"),
        (["--hz", "0", "true"], "'0' Hz"),
        (["--hz=nan", "true"], "'nan' Hz"),
        (["--hz"], "'' Hz"),
        (["--format", "xml", "true"], "'xml'"),
        (["--nonsense", "true"], "--nonsense"),
        (["--attach", "1", "true"], "at once"),
        (["--attach", "x"], "'x'"),
        (["--attach", "4194304"], "4194304"),
        (["--json", "/no/such/folder/x.json", "true"], "/no/such/folder/x.json"),
        (["-o", "/no/such/folder/x", "true"], "/no/such/folder/x"),
        (["--timeline", "x.parquet", "true"], "--python"),
    ],
)
def test_a_fault_of_ours_is_125_and_says_how_to_mend_it(arguments: list[str], word: str) -> None:
    done = launch(*arguments)
    assert done.returncode == 125
    assert word in done.stderr.decode()
    assert "mend: " in done.stderr.decode()


def test_a_bad_path_costs_no_run(tmp_path: Path) -> None:
    launch("--json", "/no/such/folder/x", "touch", str(tmp_path / "ran"))
    assert not (tmp_path / "ran").exists()


def test_streams_pass_through_untouched() -> None:
    done = launch("-q", "--", "sh", "-c", "cat; echo seen >&2", input=b"from stdin")
    assert (done.stdout, done.stderr) == (b"from stdin", b"seen\n")


def test_quiet_leaves_stderr_to_the_command_and_the_report_goes_there_otherwise() -> None:
    assert launch("-q", "true").stderr == b""
    assert b"resident in one process" in launch("true").stderr


def test_descriptors_that_came_closed_stay_closed_and_spoil_no_file(tmp_path: Path) -> None:
    script = "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:3])\n"
    path = tmp_path / "f.json"
    command = f"exec {launcher_path()} -q --json {path} -- {sys.executable} -I -S -c 'pass' "
    subprocess.run(["sh", "-c", command + "0<&- 1>&- 2>&-"], check=True)
    assert json.loads(path.read_text())["status"] == "ok"
    seen = subprocess.run(
        ["sh", "-c", f'exec {launcher_path()} -q -- {sys.executable} -I -S -c "{script}" 2<&-'],
        capture_output=True,
        check=True,
    )
    # Python opens nothing at 2 itself, and the listing's own descriptor takes the free number.
    assert seen.stdout == b"[0, 1, 2]\n"


def test_no_descriptor_of_ours_is_inherited() -> None:
    script = "import os; print(len(os.listdir('/proc/self/fd')))"
    command = [sys.executable, "-I", "-S", "-c", script]
    bare = subprocess.run(command, capture_output=True, check=True)
    assert launch("-q", "--json", "/dev/null", *command).stdout == bare.stdout


# ---- signals -------------------------------------------------------------------------------

COUNTER = """
n = 0
def count(number, frame):
    global n
    n += 1
signal.signal(signal.SIGUSR1, count)
signal.signal(signal.SIGTERM, count)
print("ready", flush=True)
while n < 2:
    time.sleep(0.01)
time.sleep(0.2)
print(n, flush=True)
"""


def test_signals_sent_to_us_reach_the_command_exactly_once() -> None:
    process = subprocess.Popen(
        [launcher_path(), "-q", "--", *python(COUNTER)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[0] == "2\n"
    assert process.returncode == 0


def test_ctrl_c_on_a_terminal_reaches_the_command_exactly_once(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    body = COUNTER.replace("SIGUSR1", "SIGINT").replace("n < 2", "n < 1")
    pid, terminal = pty.fork()
    if pid == 0:
        command = [launcher_path(), "-q", "--json", str(target), "--", *python(body)]
        os.execv(command[0], command)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    said = b""
    try:
        while True:
            said += os.read(terminal, 1000)
    except OSError:  # the terminal's other end closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert said.split()[-1].removeprefix(b"^C") == b"1"
    assert json.loads(target.read_text())["status"] == "ok"


def test_a_terminal_shows_progress_and_then_the_report() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(launcher_path(), [launcher_path(), "sleep", "1.2"])
    said = b""
    try:
        while True:
            said += os.read(terminal, 1000)
    except OSError:
        pass
    os.waitpid(pid, 0)
    assert b"MiB now" in said
    after = said.rpartition(b"MiB now")[2]
    assert b"\r\x1b[K" in after  # erased
    assert b"resident in one process" in after


def test_a_stopped_command_hangs_nothing(tmp_path: Path) -> None:
    body = "os.kill(os.getpid(), signal.SIGSTOP); print('on', flush=True)"
    process = subprocess.Popen(
        [launcher_path(), "-q", "--json", str(tmp_path / "f"), "--", *python(body)],
        stdout=subprocess.PIPE,
    )
    time.sleep(0.3)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGCONT)
    assert process.communicate(timeout=30)[0] == b"on\n"
    assert process.returncode == 0


def test_the_command_finds_signals_as_they_would_be_without_us() -> None:
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    front = [sys.executable, "-m", "foxbench.cli.entry", "run", "-q", "--"]
    bare = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    through = subprocess.run([*front, "sh", "-c", script], capture_output=True, check=True)
    assert through.stdout == bare.stdout


# ---- figures and formats -------------------------------------------------------------------


def test_the_json_has_the_documented_keys_in_order_and_whole_numbers(tmp_path: Path) -> None:
    found = figures(tmp_path, ["sleep", "0.1"])
    assert list(found) == KEYS
    words = {"status", "peak_single_comm", "peak_kind"}
    assert all(type(found[key]) is int for key in set(KEYS) - words - {"term_signal"})
    assert found["term_signal"] is None
    assert (found["status"], found["peak_single_comm"], found["peak_kind"]) == (
        "ok",
        "sleep",
        "hwm",
    )
    assert found["schema_version"] == 1


def test_a_known_allocation_is_the_peak_and_the_average_lies_below(tmp_path: Path) -> None:
    body = "x = hold(96 * MIB); time.sleep(0.2); x.close(); time.sleep(0.4)"
    found = figures(tmp_path, python(body))
    assert 96 * MIB <= found["peak_single_bytes"] <= 96 * MIB + PYTHON_BYTES
    assert found["peak_single_pid"] > 0
    assert found["n_samples"] >= 100
    assert found["peak_tree_rss_bytes"] >= found["peak_single_bytes"]
    assert 0 < found["peak_tree_pss_bytes"] <= found["peak_tree_rss_bytes"]
    assert 8 * MIB < found["avg_rss_bytes"] < 80 * MIB


def test_a_spike_between_two_samples_is_in_the_peak(tmp_path: Path) -> None:
    body = "time.sleep(0.1); hold(128 * MIB).close(); time.sleep(0.1)"
    found = figures(tmp_path, python(body), "--hz", "1")
    assert found["peak_kind"] == "hwm"
    least = 128 * MIB - found["peak_err_bytes"]
    assert least <= found["peak_single_bytes"] <= 128 * MIB + PYTHON_BYTES


def test_true_below_a_gigabyte_of_parent_reports_itself(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    script = f"""
import subprocess, sys
x = bytearray(b"x") * (1 << 30)
front = [sys.executable, "-m", "foxbench.cli.entry", "run", "-q", "--json", {str(target)!r}]
subprocess.run([*front, "--", "true"], check=True)
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=clean_environment())
    found = json.loads(target.read_text())
    assert MIB // 2 < found["peak_single_bytes"] < 3 * MIB
    assert found["self_bytes"] < 2 * MIB


def test_a_command_that_needs_no_shell_word_splitting_gets_its_arguments_whole() -> None:
    done = launch("-q", "printf", "%s|", "a b", "", "--hz", "--")
    assert done.stdout == b"a b||--hz|--|"


def test_a_name_of_any_bytes_makes_valid_json(tmp_path: Path) -> None:
    body = """
libc = ctypes.CDLL(None)
libc.prctl(15, b'a"\\\\\\xff\\n', 0, 0, 0)
x = hold(32 * MIB)
time.sleep(0.1)
"""
    assert figures(tmp_path, python(body))["peak_single_comm"] == 'a"\\\xff\n'


def test_reports_go_to_a_file_whole_and_keep_its_mode_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    done = launch("-o", str(link), "--format", "json", "sh", "-c", "exit 3")
    assert (done.returncode, done.stderr) == (3, b"")
    assert json.loads(real.read_text())["exit_code"] == 3
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


def test_a_command_that_cannot_start_leaves_files_as_they_were(tmp_path: Path) -> None:
    kept = tmp_path / "f.json"
    kept.write_text("old")
    assert launch("--json", str(kept), "/no/such/program").returncode == 127
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]


def test_json_goes_to_stdout_when_asked() -> None:
    done = launch("-q", "--json", "-", "true")
    assert list(json.loads(done.stdout)) == KEYS


def test_a_report_that_cannot_be_written_is_our_fault_and_not_the_commands() -> None:
    assert launch("-o", "/dev/full", "true").returncode == 125
    assert launch("-o", "/dev/full", "sh", "-c", "exit 4").returncode == 4


def test_attaching_watches_a_running_process_until_it_ends(tmp_path: Path) -> None:
    target = tmp_path / "f.json"
    body = "print('up', flush=True); time.sleep(0.4); x = hold(64 * MIB); time.sleep(0.6)"
    watched = subprocess.Popen(python(body), stdout=subprocess.PIPE)
    assert watched.stdout is not None
    watched.stdout.readline()
    options = ["-q", "--json", str(target), "--attach", str(watched.pid)]
    watcher = subprocess.Popen([launcher_path(), *options])
    assert watched.wait(30) == 0
    assert watcher.wait(30) == 0
    found = json.loads(target.read_text())
    assert found["exit_code"] is None
    assert 64 * MIB <= found["peak_single_bytes"] <= 64 * MIB + PYTHON_BYTES
    assert found["peak_single_pid"] == watched.pid
    assert found["peak_kind"] == "hwm"  # its mark rose while we watched
    assert found["voluntary_ctxt_switches"] is None
    assert found["minor_faults"] > 0


def test_attaching_late_is_said_to_be_a_lower_bound_and_ctrl_c_ends_it() -> None:
    body = "hold(64 * MIB).close(); print('up', flush=True); time.sleep(30)"
    watched = subprocess.Popen(python(body), stdout=subprocess.PIPE)
    assert watched.stdout is not None
    watched.stdout.readline()
    watcher = subprocess.Popen(
        [launcher_path(), "--attach", str(watched.pid)], stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.3)
    watcher.send_signal(signal.SIGINT)
    said = watcher.communicate(timeout=30)[1]
    assert watched.poll() is None  # left running
    watched.kill()
    watched.wait()
    assert watcher.returncode == 0
    assert ">= " in said
    assert "attached later" in said


def test_the_timeline_holds_the_peak_and_its_time(tmp_path: Path) -> None:
    from foxbench.sampler import timeline_file

    target = tmp_path / "t.parquet"
    body = "time.sleep(0.2); x = hold(96 * MIB); time.sleep(0.2)"
    options = ["--python", sys.executable, "--timeline", str(target)]
    found = figures(tmp_path, python(body), *options)
    table = timeline_file.read(target)
    largest = max(table["max_bytes"].to_pylist())
    assert 96 * MIB <= largest <= 96 * MIB + PYTHON_BYTES
    assert sum(table["count"].to_pylist()) == found["n_samples"]
    when = table["max_ns"].to_pylist()[table["max_bytes"].to_pylist().index(largest)]
    assert 200_000_000 <= when <= found["elapsed_ns"]
    assert table.schema.metadata[b"foxbench.source"] == b"tree"


def test_a_timeline_that_cannot_become_parquet_is_kept_raw(tmp_path: Path) -> None:
    from foxbench.sampler import timeline_file

    target = tmp_path / "t.parquet"
    done = launch("-q", "--python", "/bin/false", "--timeline", str(target), "sleep", "0.1")
    assert done.returncode == 125
    assert "t.parquet.raw" in done.stderr.decode()
    raw = tmp_path / "t.parquet.raw"
    assert timeline_file.main([str(raw), str(target)]) == 0
    assert timeline_file.read(target).num_rows > 10


def test_the_foxbench_command_lists_run_and_shows_its_help() -> None:
    entry = [sys.executable, "-m", "foxbench.cli.entry"]
    listed = subprocess.run([*entry, "--help"], capture_output=True, text=True, check=True)
    assert "run " in listed.stdout
    shown = subprocess.run([*entry, "run", "--help"], capture_output=True, text=True, check=True)
    for option in ("--hz", "--tree", "--format", "--output", "--json", "--timeline", "--attach"):
        assert option in shown.stdout
