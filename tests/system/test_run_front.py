"""What stands between ``foxbench run`` and the launcher: a few modules, and one exec."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRONT = (
    "foxbench/__init__.py",
    "foxbench/cli/__init__.py",
    "foxbench/cli/entry.py",
    "foxbench/sampler/__init__.py",
    "foxbench/sampler/launcher.py",
)


def imported(*arguments: str) -> set[str]:
    """Modules that a Python without site packages imports until it has become the launcher."""
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); sys.argv[1:] = {list(arguments)!r}; "
        "from foxbench.cli.entry import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
    )
    return set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE)) - {"package"}


def test_a_run_imports_five_modules_of_ours_and_nothing_heavy() -> None:
    run = imported("run", "-q", "--", "true")
    names = {name for name in run if name.startswith("foxbench")}
    assert names == {name[:-3].replace("/__init__", "").replace("/", ".") for name in FRONT}
    heavy = {"click", "typing", "dataclasses", "importlib.metadata", "argparse", "subprocess"}
    assert not heavy & run
    # The same question sees them where they are; click is looked for there, and not found.
    assert "foxbench.cli.main" in imported("--version")
    assert "dataclasses" in imported("--version")


def test_a_missing_launcher_is_125_with_the_command_that_builds_it(tmp_path: Path) -> None:
    for name in FRONT:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-S", "-m", "foxbench.cli.entry", "run", "--", "true"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 125
    assert f"No such file or directory: {tmp_path}/foxbench/sampler/foxbench-run" in done.stderr
    assert "pip install" in done.stderr


@pytest.mark.parametrize("arguments", [["-q", "--", "sh", "-c", "exit 7"], ["sh", "-c", "exit 7"]])
def test_the_click_command_becomes_the_launcher_too(arguments: list[str]) -> None:
    code = "import sys; from foxbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "run", *arguments], capture_output=True)
    assert done.returncode == 7, done.stderr


def test_completion_offers_run() -> None:
    shell = {
        "_FOXBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": "foxbench r",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv[0] = 'foxbench'; from foxbench.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **shell}, capture_output=True, text=True
    )
    assert done.stdout.split() == ["plain,run"]
