"""``foxbench doctor`` on really degraded machines: made with namespaces, as root."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from foxbench.sampler.launcher import launcher_path

ROOT = Path(__file__).parents[2]
DOCTOR = [sys.executable, "-m", "foxbench.cli.entry", "doctor"]


def doctor(*before: str, code: int, **env: str) -> dict[str, Any]:
    """The JSON of the doctor, run behind a command that degrades the machine."""
    done = subprocess.run(
        [*before, *DOCTOR, "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        # chroot and its like lie where a user's PATH may not lead.
        env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", **env},
    )
    assert done.returncode == code, (done.returncode, done.stdout[:2000], done.stderr)
    return json.loads(done.stdout)


def check(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [c for c in found["checks"] if c["name"] == name]
    return one


@pytest.fixture(scope="module")
def unshare() -> list[str]:
    """A prefix that runs a shell script in a mount namespace of its own; ``$@`` is the command.

    Without root in a user namespace, where a pid namespace comes along so that /proc may be
    mounted.
    """
    tool = shutil.which("unshare") or "unshare"
    for flags in (["-m"], ["-rmpf", "--mount-proc"]):
        prefix = [tool, *flags, "sh", "-c"]
        with contextlib.suppress(FileNotFoundError):
            probe = [*prefix, "mount -t proc proc /proc"]
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return prefix
    pytest.skip("needs unshare (util-linux), and root or user namespaces")


def as_nobody() -> list[str]:
    """A prefix that executes a command as another user than root."""
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() != 0:
        return []
    probe = [*prefix, sys.executable, "-c", "import foxbench"]
    if subprocess.run(probe, capture_output=True, check=False, cwd=ROOT).returncode != 0:
        pytest.skip("another user may not execute this interpreter or read the repository")
    return prefix


def test_a_good_machine_is_exact_and_says_so_in_words_and_json() -> None:
    found = doctor(code=0)
    assert list(found) == ["schema_version", "summary", "exit_code", "checks"]
    assert found["schema_version"] == 1
    assert "exact" in found["summary"]
    keys = {"group", "name", "status", "finding", "remedy", "needed_for", "values"}
    assert all(set(one) == keys for one in found["checks"])
    text = subprocess.run(DOCTOR, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert text.startswith("peaks are exact to")
    assert max(len(line) for line in text.splitlines()) <= 100
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_a_read_only_proc_makes_peaks_lower_bounds_and_names_the_mount(unshare) -> None:
    script = 'mount -o remount,ro,bind /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=3)
    assert "lower bounds" in found["summary"]
    mark = check(found, "high_water_mark")
    assert (mark["status"], "Read-only" in mark["finding"]) == ("missing", True)
    assert check(found, "procfs")["status"] == "limited"
    assert "remount,rw" in check(found, "procfs")["remedy"]


def test_a_process_that_changed_its_user_cannot_reset_its_mark() -> None:
    body = """
import ctypes, json, os
from foxbench.sampler.doctor.examine import examine
examine()  # imports what it needs while it may read the interpreter's files
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # which makes a process undumpable
else:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
print(json.dumps(examine().as_json()))
"""
    command = [sys.executable, "-c", body]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert found["exit_code"] == 3
    mark = check(found, "high_water_mark")
    assert (mark["status"], "Permission denied" in mark["finding"]) == ("missing", True)
    assert "the user it runs as" in mark["remedy"]
    assert "PR_SET_DUMPABLE" in mark["remedy"]


def test_a_proc_that_is_not_there_leaves_nothing(unshare) -> None:
    script = 'mount -t tmpfs none /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=5)
    assert "nothing can be measured" in found["summary"]
    assert "mount -t proc" in check(found, "procfs")["remedy"]


def test_hidepid_is_named_and_does_not_hinder_our_own_figures(unshare) -> None:
    script = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", *as_nobody(), code=0)
    assert "hidepid" in check(found, "procfs")["finding"]
    assert check(found, "high_water_mark")["status"] == "ok"


def test_a_user_without_rights_has_exact_peaks_of_his_own() -> None:
    found = doctor(*as_nobody(), code=0)
    assert "without PSS" in check(found, "attach")["finding"]
    assert check(found, "attach")["values"]["any_user"] is False


def test_a_masked_clear_refs_is_not_taken_for_one_that_works(unshare) -> None:
    script = 'mount --bind /dev/null /proc/$$/clear_refs && exec "$@"'
    found = doctor(*unshare, script, "sh", code=3)
    mark = check(found, "high_water_mark")
    assert (mark["status"], mark["values"]["cause"]) == ("missing", "no_effect")
    assert "umount" in mark["remedy"]


def test_a_proc_that_shows_only_processes_is_said_to_lack_the_rest(unshare) -> None:
    script = 'mount -t proc -o subset=pid proc /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=0)
    assert "subset=pid" in check(found, "procfs")["finding"]
    assert check(found, "swap")["status"] == "info"
    assert check(found, "memory_limit")["values"]["host_bytes"] is None


def test_a_pid_namespace_without_a_proc_of_its_own_is_noticed(unshare) -> None:
    script = 'exec unshare -pf "$@"'
    found = doctor(*unshare, script, "sh", code=0)
    assert "another pid namespace" in check(found, "procfs")["finding"]


def test_a_chroot_without_proc_leaves_nothing_and_blames_only_that(unshare, tmp_path) -> None:
    script = (
        f"mount --rbind / {tmp_path} && mount -t tmpfs none {tmp_path}/proc && cd {ROOT} "
        f'&& exec chroot {tmp_path} sh -c \'cd {ROOT} && exec "$@"\' sh "$@"'
    )
    found = doctor(*unshare, script, "sh", code=5)
    assert "nothing can be measured" in found["summary"]
    for name in ("high_water_mark", "memory_split", "io_counters", "proportional_set", "timer"):
        assert "above" in check(found, name)["remedy"], name


def test_an_installation_without_the_extension_says_how_to_build_it(tmp_path) -> None:
    without = shutil.ignore_patterns("*.so", "__pycache__", "foxbench-run")
    shutil.copytree(ROOT / "foxbench", tmp_path / "foxbench", ignore=without)
    command = [sys.executable, "-S", "-m", "foxbench.cli.entry", "doctor", "--json"]
    # Without the installed foxbench, but with what it needs.
    path = os.pathsep.join([str(tmp_path), str(Path(click.__file__).parents[1])])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 5, done.stderr
    found = json.loads(done.stdout)
    assert "cannot be loaded" in found["summary"]
    assert "pip install" in check(found, "compiled_sampler")["remedy"]
    assert "pip install" in check(found, "launcher")["remedy"]


def test_a_preloaded_allocator_is_seen_in_the_running_process(tmp_path) -> None:
    library = tmp_path / "libjemalloc.so.2"
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    source = tmp_path / "empty.c"
    source.write_text("int fox_nothing;\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    found = doctor(code=0, LD_PRELOAD=str(library))
    assert "jemalloc" in check(found, "allocator")["finding"]


def test_one_cpu_alone_is_shared_with_the_sampler() -> None:
    cpu = min(os.sched_getaffinity(0))
    found = doctor("taskset", "-c", str(cpu), code=0)
    assert check(found, "processors")["values"]["n_usable_cpus"] == 1
    assert check(found, "processors")["status"] == "limited"


def test_an_option_that_does_not_exist_is_wrong_usage() -> None:
    done = subprocess.run([*DOCTOR, "--cure"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, "--cure" in done.stderr) == (4, True)


def test_neither_torch_nor_pyarrow_is_imported_to_tell_their_versions() -> None:
    body = (
        "import sys; from foxbench.cli.main import main; code = main(['doctor', '--json']); "
        "sys.exit(code or sum(m in sys.modules for m in ('torch', 'pyarrow', 'asv')))"
    )
    subprocess.run([sys.executable, "-c", body], capture_output=True, check=True, cwd=ROOT)


def test_a_mark_switched_off_by_the_user_is_not_measured() -> None:
    found = doctor(code=3, FOXBENCH_NO_CLEAR_REFS="1")
    assert "FOXBENCH_NO_CLEAR_REFS" in check(found, "high_water_mark")["remedy"]


def test_the_figures_follow_what_the_doctor_says(unshare) -> None:
    script = 'mount -o remount,ro,bind /proc && exec "$@"'
    body = "import foxbench; print(foxbench.step_peak(lambda: None).peak.kind)"
    command = [*unshare, script, "sh", sys.executable, "-c", body]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "sampled\n"


def test_no_former_peak_is_taken_for_a_steps_where_a_reset_does_nothing(unshare) -> None:
    script = 'mount --bind /dev/null /proc/$$/clear_refs && exec "$@"'
    body = """
import mmap
import foxbench
def touch(mib):
    with mmap.mmap(-1, mib << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        for at in range(0, len(held), mmap.PAGESIZE):
            held[at] = 1
touch(300)
step = foxbench.step_peak(lambda: touch(20))
print(step.peak.kind, step.step_peak_bytes < 40 << 20)
"""
    command = [*unshare, script, "sh", sys.executable, "-c", body]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "sampled True\n"


def test_no_strangers_memory_is_taken_for_the_commands_in_another_pid_namespace(unshare) -> None:
    command = [*unshare, 'exec unshare -pf "$@"', "sh", launcher_path()]
    command += ["-q", "--json", "-", "--", "sh", "-c", "exit 7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, "another pid namespace" in done.stderr) == (7, True)
    assert json.loads(done.stdout)["peak_single_bytes"] is None
