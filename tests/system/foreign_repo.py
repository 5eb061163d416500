"""A project of somebody else, in a git repository of its own, measured by real asv commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import foxbench

MIB = 1 << 20
MACHINE = "fox"

CONF = {
    "version": 1,
    "project": "tinyfit",
    "repo": ".",
    "branches": ["main"],
    "environment_type": "virtualenv",
    "benchmark_dir": "benchmarks",
    "results_dir": "results",
    "html_dir": "html",
    "plugins": [".foxbench.site"],
    "regressions_thresholds": {".*steppeak_.*": 0.01},
}

BENCHMARK = """
import tinyfit


class Fit:
    params = [32, 64]
    param_names = ["mib"]

    def steppeak_fit(self, mib):
        tinyfit.fit_step(mib << 20)
"""

# A touched buffer of `scale` times the asked size: a step whose memory is known.
PROJECT = '''
SCALE = {scale}


def fit_step(n_bytes):
    """{note}"""
    return len(b"\\1" * round(n_bytes * SCALE))
'''


@dataclass
class ForeignRepo:
    """``tinyfit``, with one commit for each call of :meth:`commit`."""

    root: Path
    hashes: list[str] = field(default_factory=list)

    @classmethod
    def create(cls, root: Path) -> ForeignRepo:
        repo = cls(root)
        (root / "benchmarks").mkdir(parents=True)
        repo.git("init", "-q", "-b", "main")
        (root / ".gitignore").write_text("results/\nhtml/\nhome/\ntrees/\n")
        (root / "asv.conf.json").write_text(json.dumps(CONF))
        (root / "benchmarks" / "__init__.py").write_text("import foxbench.asv_types\n")
        (root / "benchmarks" / "fitting.py").write_text(BENCHMARK)
        (root / "home").mkdir()
        return repo

    def commit(self, scale: float, subject: str) -> str:
        """Commit a version whose step needs ``scale`` times the asked bytes."""
        (self.root / "tinyfit.py").write_text(PROJECT.format(scale=scale, note=subject))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        self.hashes.append(self.git("rev-parse", "HEAD").strip())
        return self.hashes[-1]

    def measure_all(self) -> None:
        """``asv run`` every commit, each in a worktree of its own."""
        self.asv("machine", "--yes", "--machine", MACHINE, "--ram", "8GB", "--os", "Linux")
        for commit in self.hashes:
            tree = self.root / "trees" / commit[:8]
            self.git("worktree", "add", "-q", "--detach", str(tree), commit)
            self.asv(
                "run",
                *("-E", "existing:same", "--set-commit-hash", commit, "--machine", MACHINE),
                *("--record-samples", "--show-stderr"),
                path=tree,
            )

    def publish(self, *commit_range: str) -> tuple[dict, dict]:
        """``asv publish``; memory.json and asv's own regressions.json."""
        self.asv("publish", "--no-pull", *commit_range)
        html = self.root / "html"
        return (
            json.loads((html / "memory.json").read_text()),
            json.loads((html / "regressions.json").read_text()),
        )

    def asv(self, *words: str, path: Path | None = None, failures_allowed: bool = False) -> str:
        # asv run exits 2 when a benchmark failed and everything else went well.
        expected = (0, 2) if failures_allowed else (0,)
        return self._run([sys.executable, "-m", "asv", *words], path, expected)

    def git(self, *words: str) -> str:
        return self._run(["git", *words], None)

    def _run(self, command: list[str], path: Path | None, expected: tuple[int, ...] = (0,)) -> str:
        here = Path(foxbench.__file__).parent.parent  # the foxbench that this test imported
        when = f"{1_750_000_000 + 86_400 * len(self.hashes)} +0000"
        python_path = os.pathsep.join(str(p) for p in (path, here) if p is not None)
        env = {
            **os.environ,
            "HOME": str(self.root / "home"),
            "PYTHONPATH": python_path,
            "ASV_PYTHONPATH": python_path,  # asv drops the plain one from its benchmarks
            "OMP_NUM_THREADS": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada &amp; Lovelace",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(
            command, cwd=self.root, env=env, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        assert done.returncode in expected, (
            f"{' '.join(command)} exits {done.returncode}:\n{output}"
        )
        return output
