"""``foxbench doctor`` on really degraded machines: made with namespaces, as root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCTOR = [sys.executable, "-m", "foxbench.cli.entry", "doctor"]


def doctor(*before: str, code: int, **env: str) -> dict[str, Any]:
    """The JSON of the doctor, run behind a command that degrades the machine."""
    done = subprocess.run(
        [*before, *DOCTOR, "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **env},
    )
    assert done.returncode == code, (done.returncode, done.stdout[:2000], done.stderr)
    return json.loads(done.stdout)


def check(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [c for c in found["checks"] if c["name"] == name]
    return one


@pytest.fixture(scope="module")
def unshare() -> list[str]:
    """A prefix that runs a shell script in a mount namespace of its own; ``$@`` is the command."""
    tool = shutil.which("unshare")
    probe = [tool or "false", "-m", "true"]
    if tool is None or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("mount namespaces need root and unshare (util-linux)")
    return [tool, "-m", "sh", "-c"]


def test_a_good_machine_is_exact_and_says_so_in_words_and_json() -> None:
    found = doctor(code=0)
    assert list(found) == ["schema_version", "summary", "exit_code", "checks"]
    assert found["schema_version"] == 1
    assert "exact" in found["summary"]
    keys = {"group", "name", "status", "finding", "remedy", "needed_for", "values"}
    assert all(set(one) == keys for one in found["checks"])
    text = subprocess.run(DOCTOR, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert text.startswith("peaks are exact to")
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100


def test_a_read_only_proc_makes_peaks_lower_bounds_and_names_the_mount(unshare) -> None:
    script = 'mount -o remount,ro,bind /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=3)
    assert "lower bounds" in found["summary"]
    mark = check(found, "high_water_mark")
    assert (mark["status"], "Read-only" in mark["finding"]) == ("missing", True)
    assert check(found, "procfs")["status"] == "limited"
    assert "remount,rw" in check(found, "procfs")["remedy"]


def test_a_process_that_changed_its_user_cannot_reset_its_mark(unshare) -> None:
    body = """
import json, os
from foxbench.sampler.doctor.examine import examine
examine()  # imports what it needs while it may read the interpreter's files
os.setgid(65534)
os.setuid(65534)
print(json.dumps(examine().as_json()))
"""
    command = [sys.executable, "-c", body]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert found["exit_code"] == 3
    mark = check(found, "high_water_mark")
    assert (mark["status"], "Permission denied" in mark["finding"]) == ("missing", True)
    assert "as the user it runs as" in mark["remedy"]


def test_a_proc_that_is_not_there_leaves_nothing(unshare) -> None:
    script = 'mount -t tmpfs none /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=5)
    assert "nothing can be measured" in found["summary"]
    assert "mount -t proc" in check(found, "procfs")["remedy"]


def test_hidepid_is_named_and_does_not_hinder_our_own_figures(unshare) -> None:
    script = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    found = doctor(*unshare, script, "sh", code=0)
    assert "hidepid" in check(found, "procfs")["finding"]


def test_a_mark_switched_off_by_the_user_is_not_measured() -> None:
    found = doctor(code=3, FOXBENCH_NO_CLEAR_REFS="1")
    assert "FOXBENCH_NO_CLEAR_REFS" in check(found, "high_water_mark")["remedy"]


def test_the_figures_follow_what_the_doctor_says(unshare) -> None:
    script = 'mount -o remount,ro,bind /proc && exec "$@"'
    body = "import foxbench; print(foxbench.step_peak(lambda: None).peak.kind)"
    command = [*unshare, script, "sh", sys.executable, "-c", body]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "sampled\n"
