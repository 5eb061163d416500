"""One benchmark of this repository's own suite, run in a fresh process the way asv runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("Dqn", "Ppo", "Mamba2", "Tft")

_CHILD = """
import sys
from asv_runner._aux import update_sys_path
from asv_runner.run import _run
from asv_runner.setup_cache import _setup_cache
suite, benchmark, out = sys.argv[1:]
update_sys_path(suite)
_run((suite, benchmark, "{}", "None", out)) if out else _setup_cache((suite, benchmark, "{}"))
"""

_PLANTED = """

class {model}Planted({model}):
    '''The same step with bytes that live as long as it does.'''

    def step(self):
        held = b"\\1" * {n_bytes}
        try:
            return super().step()
        finally:
            del held
"""


@dataclass(frozen=True)
class Suite:
    """A copy of ``benchmarks/`` and asv's cache folder beside it."""

    directory: Path
    cache: Path

    @classmethod
    def copy(cls, tmp: Path, planted_bytes: int) -> Suite:
        """The suite with a ``…Planted`` twin of each training benchmark, its cache filled."""
        suite = cls(tmp / "benchmarks", tmp / "cache")
        suite.cache.mkdir()
        shutil.copytree(ROOT / "benchmarks", suite.directory)
        with (suite.directory / "training.py").open("a") as file:
            for model in MODELS:
                file.write(_PLANTED.format(model=model, n_bytes=planted_bytes))
        suite._python("training.Dqn.steppeak_step", "")
        return suite

    def measure(self, benchmark: str) -> int:
        """The bytes one fresh process reads for ``benchmark``."""
        out = self.cache / "out.json"
        out.unlink(missing_ok=True)
        self._python(benchmark, str(out))
        value = json.loads(out.read_text())
        return int(value["samples"][0] if isinstance(value, dict) else value)

    def _python(self, benchmark: str, out: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(self.directory), benchmark, out],
            cwd=self.cache,
            env={k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
