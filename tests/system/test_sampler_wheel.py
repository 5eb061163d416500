"""The wheel as a user builds it: one stable-ABI extension that works away from the sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("scikit_build_core", "cffi"):
        pytest.importorskip(needed, reason=f"building a wheel needs {needed}")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "csrc", "foxbench", "pyproject.toml", "LICENSE", "README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "-w", str(out), str(source)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_one_wheel_serves_every_python_from_3_10_on(wheel: Path) -> None:
    assert "-cp310-abi3-linux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert [n for n in names if n.endswith(".so")] == ["foxbench/sampler/_foxsampler.abi3.so"]
    assert "foxbench/sampler/foxbench-run" in names
    assert "foxbench/sampler/_build_ffi.py" not in names
    assert not [n for n in names if n.startswith(("csrc", "tests")) or n.endswith((".a", ".c"))]


def test_the_launcher_of_an_installed_wheel_can_be_executed(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(tmp_path), str(wheel)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    run = subprocess.run(
        [sys.executable, "-m", "foxbench.cli.entry", "run", "--", "sh", "-c", "exit 9"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 9
    assert "exit code 9" in run.stderr


def test_the_wheel_measures_without_the_sources(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = """
import json, foxbench
figure = foxbench.step_peak(lambda: bytearray(32 << 20))
print(json.dumps([foxbench.__file__, figure.step_peak_bytes]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    file, peak_bytes = json.loads(done.stdout)
    assert file.startswith(str(tmp_path))
    assert 31 << 20 <= peak_bytes <= 34 << 20
