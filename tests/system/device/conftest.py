"""A process in which the real bindings find NVIDIA's library in a state of the test's choice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from device_worlds import PRELUDE

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "tests" / "fake_nvml" / "nvml.c"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of libnvidia-ml.so.1 as drivers of these versions have it."""
    built = {}
    for version in ("550", "460", "440"):
        folder = tmp_path_factory.mktemp(version)
        flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-fvisibility=hidden"]
        warnings = ["-Wall", "-Wextra", "-Werror", f"-DDRIVER={version}"]
        target = folder / "libnvidia-ml.so.1"
        command = ["cc", *flags, *warnings, "-shared", "-fPIC", "-o", str(target), str(SOURCE)]
        subprocess.run(command, check=True)
        built[version] = folder
    return built


@pytest.fixture
def run(libraries: dict[str, Path], tmp_path: Path):
    def in_world(
        world: str, body: str, driver: str = "550", before: Sequence[str] = (), **env: str
    ) -> Any:
        """What a script reports in a process that finds the library in this state."""
        path = tmp_path / "world"
        path.write_text(world)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "FOXBENCH_"))}
        where = {"FAKE_NVML": str(path), "PYTHONPATH": str(ROOT)}
        if driver:
            where["LD_LIBRARY_PATH"] = str(libraries[driver])
        done = subprocess.run(
            [*before, sys.executable, "-c", PRELUDE + body],
            env={**clean, **where, **env},
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return in_world
