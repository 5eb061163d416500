"""One benchmark of this repository's own suite, run in a fresh process the way asv runs it.

Run as a script it prints the table of docs/measurements.md: each model's step peak and asv's peak
over five fresh processes, as they are and with 1 MiB planted in the step.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
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


def main(processes: int = 5, planted_bytes: int = 1 << 20) -> None:
    """Print the table; the four ways take turns, so that none has the quiet minutes."""
    with tempfile.TemporaryDirectory() as tmp:
        suite = Suite.copy(Path(tmp), planted_bytes)
        print("| model | benchmark | median MiB | max - min KiB | as % | 1 MiB planted adds |")
        print("|---|---|---|---|---|---|")
        for model in MODELS:
            found: dict[tuple[str, str], list[int]] = {}
            for _ in range(processes):
                for name in ("steppeak_step", "peakmem_step"):
                    for twin in ("", "Planted"):
                        value = suite.measure(f"training.{model}{twin}.{name}")
                        found.setdefault((name, twin), []).append(value)
            for name in ("steppeak_step", "peakmem_step"):
                plain, planted = found[name, ""], found[name, "Planted"]
                middle, spread = statistics.median(plain), max(plain) - min(plain)
                print(
                    f"| {model} | `{name}` | {middle / 2**20:.2f} | {spread / 2**10:.0f} "
                    f"| {100 * spread / middle:.2f} "
                    f"| {(statistics.median(planted) - middle) / 2**20:+.2f} MiB |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
