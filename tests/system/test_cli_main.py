"""The command as users start it: a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
HEAVY = ("torch", "pyarrow", "numpy", "rich", "msgspec", "scipy", "plotly", "jinja2")


def foxbench(*arguments, **options):
    env = {**os.environ, "PYTHONPATH": PYTHONPATH, **options.pop("env", {})}
    command = [sys.executable, "-m", "foxbench.cli.main", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, **options)


def modules_after(*arguments):
    """Names of the modules that a command leaves imported, and its exit code."""
    code = (
        "import sys, json, contextlib, io\n"
        "from foxbench.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    code = main({list(arguments)!r})\n"
        "print(json.dumps([code, sorted(sys.modules)]))"
    )
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["profile", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments):
    code, modules = modules_after(*arguments)
    assert code == 0
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.parametrize("name", ["profile", "bars", "site"])
def test_every_command_answers_to_help(name):
    done = foxbench(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage: foxbench " + name in done.stdout


def test_a_misspelt_option_exits_with_4_and_not_with_the_code_of_a_budget():
    done = foxbench("profile", "dqn", "bars.parquet", "--epocs", "3")
    assert done.returncode == 4
    assert "--epochs" in done.stderr


def test_a_reader_that_leaves_early_brings_no_traceback():
    read_end, write_end = os.pipe()
    os.close(read_end)
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        [sys.executable, "-m", "foxbench.cli.main", "--help"],
        env=env,
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write_end)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
