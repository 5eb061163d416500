"""asv's files, written by asv's own classes, come back as series."""

from __future__ import annotations

import json
import math
import subprocess
from types import SimpleNamespace

import pytest
from asv import util
from asv.results import Results
from asv.runner import BenchmarkResult

from foxbench.errors import EnvironmentFault, UsageError
from foxbench.history.results import load_history

MIB = 1 << 20


class Project:
    """A git repository with an asv configuration and results that no benchmark produced."""

    def __init__(self, root):
        self.root = root
        self.hashes = []
        self.git("init", "-q", "-b", "main")
        conf = {"version": 1, "project": "p", "repo": ".", "branches": ["main"]}
        self.conf = root / "asv.conf.json"
        self.conf.write_text(json.dumps({**conf, "results_dir": "res"}))
        for i, subject in enumerate(["First: ünï\tcode", "Second", "Third"]):
            self.git("commit", "-q", "--allow-empty", "-m", subject, at=1_700_000_000 + i)
            self.hashes.append(self.git("rev-parse", "HEAD"))

    def git(self, *words, at=1_700_000_000):
        who = ["-c", "user.name=Ada L", "-c", "user.email=a@b.c"]
        env = {"GIT_AUTHOR_DATE": f"{at} +0000", "GIT_COMMITTER_DATE": f"{at} +0000"}
        done = subprocess.run(
            ["git", *who, *words], cwd=self.root, env=env, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def declare(self, *benchmarks):
        folder = self.root / "res"
        (folder / "fox").mkdir(parents=True, exist_ok=True)
        util.write_json(str(folder / "fox" / "machine.json"), {"machine": "fox"}, 1)
        util.write_json(str(folder / "benchmarks.json"), {b["name"]: b for b in benchmarks}, 2)

    def store(self, commit, *measured, machine="fox"):
        params = {"machine": machine, "num_cpu": "8"}
        results = Results(params, {}, commit, 0, "3.11", "env-a", {})
        for about, samples, number in measured:
            one = BenchmarkResult(
                result=[s if s is None or isinstance(s, float) else True for s in samples],
                samples=[s if isinstance(s, list) else None for s in samples],
                number=[number if isinstance(s, list) else None for s in samples],
                errcode=0,
                stderr="",
                profile=None,
            )
            results.add_result(about, one, record_samples=True)
        results.save(str(self.root / "res"))


def about(name, params=(), version="1", unit="bytes", kind="steppeak"):
    names = ["batch"][: len(params)]
    fixed = {"param_names": names, "version": version, "unit": unit, "type": kind}
    return {"name": name, "params": [list(p) for p in params], **fixed}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


STEP = about("m.A.steppeak_step")


def test_values_samples_commits_and_order_come_back(project):
    project.declare(STEP)
    for i in (2, 0, 1):  # stored in no order
        project.store(project.hashes[i], (STEP, [[10 * MIB, 12 * MIB + i, 11 * MIB]], 1))
    history = load_history(project.conf)
    (series,) = history.series
    assert [p.commit.hash for p in series.points] == project.hashes
    assert [c.subject for c in history.commits] == ["First: ünï\tcode", "Second", "Third"]
    assert history.commits[0].author == "Ada L"
    assert history.commits[1].date_ms == 1_700_000_001_000
    assert [p.value_bytes for p in series.points] == [11 * MIB] * 3
    assert series.points[2].samples_bytes == (10 * MIB, 12 * MIB + 2, 11 * MIB)
    assert (series.machine, series.environment, series.branch) == ("fox", "env-a", "main")
    assert (series.n_cpu, series.points[0].method) == (8, "hwm")


def test_a_failure_is_no_zero_and_a_skip_is_no_failure(project):
    both = about("m.A.steppeak_step", [["64", "4096"]])
    project.declare(both)
    project.store(project.hashes[0], (both, [None, math.nan], 1))
    points = {s.params: s.points[0] for s in load_history(project.conf).series}
    failed, skipped = points[(("batch", "64"),)], points[(("batch", "4096"),)]
    assert (failed.status, failed.value_bytes, failed.n_measurements) == ("failed", None, 0)
    assert (skipped.status, skipped.value_bytes) == ("skipped", None)


def test_parameters_sort_as_numbers(project):
    both = about("m.A.steppeak_step", [["4096", "64"]])
    project.declare(both)
    project.store(project.hashes[0], (both, [[1], [2]], 1))
    assert [s.params[0][1] for s in load_history(project.conf).series] == ["64", "4096"]


@pytest.mark.parametrize(
    ("number", "method", "quiet"),
    [(1, "hwm", True), (3, "sampled", True), (5, "hwm", False), (7, "sampled", False)],
)
def test_how_it_was_measured_is_read_back_from_asvs_number(project, number, method, quiet):
    project.declare(STEP)
    project.store(project.hashes[0], (STEP, [[5 * MIB]], number))
    point = load_history(project.conf).series[0].points[0]
    assert (point.method, point.quiet_allocator) == (method, quiet)


def test_asvs_own_peakmem_is_named_ru_maxrss(project):
    peak = about("m.A.peakmem_step", kind="peakmemory")
    project.declare(peak)
    project.store(project.hashes[0], (peak, [300.0 * MIB], None))
    point = load_history(project.conf).series[0].points[0]
    assert (point.value_bytes, point.method, point.quiet_allocator) == (
        300 * MIB,
        "ru_maxrss",
        None,
    )


def test_times_and_other_versions_are_left_out(project):
    time = about("m.A.time_step", unit="seconds", kind="time")
    project.declare(about("m.A.steppeak_step", version="2"), time)
    project.store(project.hashes[0], (STEP, [[MIB]], 1), (time, [[0.5]], 1))
    assert load_history(project.conf).series == ()


def test_a_benchmark_that_is_gone_keeps_its_history_undeclared(project):
    project.declare(about("m.B.steppeak_step"))
    project.store(project.hashes[0], (STEP, [[MIB]], 1))
    (series,) = load_history(project.conf).series
    assert (series.benchmark, series.declared) == ("m.A.steppeak_step", False)


def test_a_parameter_that_is_gone_is_undeclared_and_the_rest_is_not(project):
    old = about("m.A.steppeak_step", [["64", "4096"]])
    project.declare(about("m.A.steppeak_step", [["64"]]))
    project.store(project.hashes[0], (old, [[MIB], [2 * MIB]], 1))
    assert [s.declared for s in load_history(project.conf).series] == [True, False]


def test_commits_outside_the_branch_are_left_out(project):
    project.declare(STEP)
    project.git("checkout", "-q", "-b", "side")
    project.git("commit", "-q", "--allow-empty", "-m", "Aside")
    project.store(project.git("rev-parse", "HEAD"), (STEP, [[9 * MIB]], 1))
    project.store(project.hashes[0], (STEP, [[MIB]], 1))
    (series,) = load_history(project.conf).series
    assert [p.value_bytes for p in series.points] == [MIB]


def test_nothing_measured_yet_says_what_to_run(project):
    with pytest.raises(UsageError, match=r"benchmarks\.json") as error:
        load_history(project.conf)
    assert "asv run" in error.value.remedy


def test_a_missing_configuration_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere.*no such file"):
        load_history(tmp_path / "nowhere" / "asv.conf.json")


def test_reading_leaves_the_current_folder_as_it_was(project, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    project.declare(STEP)
    project.store(project.hashes[0], (STEP, [[MIB]], 1))
    assert load_history(project.conf).series
    assert elsewhere.samefile(".")


def test_git_that_fails_is_reported_with_its_words(tmp_path):
    from foxbench.history.results import read_commits

    repo = SimpleNamespace(
        dvcs="git", _path=str(tmp_path), get_revisions=lambda hashes: dict.fromkeys(hashes, 0)
    )
    with pytest.raises(EnvironmentFault, match="not a git repository"):
        read_commits(repo, ["0" * 40])
