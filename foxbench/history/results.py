"""asv's result files as tidy series: one benchmark, one parameter set, one machine, many commits.

asv's files stay the only store.  They are read through asv's own classes, and the order of the
commits is asv's order, so that this history and asv's graphs never disagree.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench.errors import EnvironmentFault, UsageError
from foxbench.history.series import Commit, Point, Series

#: Flags inside asv's ``number``, see :mod:`foxbench.asv_types`.
_NUMBER_SAMPLED_FLAG = 2
_NUMBER_LOUD_FLAG = 4

#: Benchmarks no longer declared have no unit on record; these prefixes of the name tell it.
_BYTE_PREFIXES = {"steppeak_": "steppeak", "peakmem_": "peakmemory", "mem_": "memory"}


@dataclass(frozen=True)
class History:
    """All byte-valued series of one asv project.

    Attributes
    ----------
    project : str
    series : tuple of Series
        Sorted by benchmark, parameters, machine, environment and branch.
    commits : tuple of Commit
        Every measured commit, oldest first.
    """

    project: str
    series: tuple[Series, ...]
    commits: tuple[Commit, ...]


def load_history(config: Path) -> History:
    """Read the history of the asv project configured by ``config``.

    Parameters
    ----------
    config : Path
        The ``asv.conf.json``; the paths inside it are taken relative to its folder, as asv does.

    Raises
    ------
    UsageError
        No such file, or nothing was measured yet.
    EnvironmentFault
        asv is not installed, or it cannot read its repository or files.
    """
    try:
        from asv import util
        from asv.benchmarks import Benchmarks
        from asv.config import Config
        from asv.repo import get_repo
    except ImportError as err:
        raise EnvironmentFault(
            f"asv cannot be imported: {err}", "pip install 'foxbench[asv]'"
        ) from None
    if not config.is_file():
        raise UsageError(f"{config}: no such file", "name the asv.conf.json with --config")
    with _inside(config.resolve().parent):
        try:
            conf = Config.load(config.name)
            repo = get_repo(conf)
            benchmarks = Benchmarks.load(conf)
        except util.UserError as err:
            raise UsageError(f"{config}: {err}", "asv run --bench just-discover") from None
        except util.ProcessError as err:
            raise EnvironmentFault(f"{config}: {err}") from None
        return collect(conf, repo, benchmarks)


def collect(
    conf: Any, repo: Any, benchmarks: Mapping[str, Any], only: Iterable[str] | None = None
) -> History:
    """Read all results below ``conf.results_dir``.

    Parameters
    ----------
    conf, repo, benchmarks
        asv's ``Config``, ``Repo`` and ``Benchmarks``.
    only : iterable of str, optional
        Full commit hashes to keep, as when ``asv publish`` was given a range.
    """
    from asv.results import iter_results

    keep = None if only is None else set(only)
    results = [r for r in iter_results(conf.results_dir) if keep is None or r.commit_hash in keep]
    commits = read_commits(repo, {r.commit_hash for r in results})
    points: dict[tuple[Any, ...], list[Point]] = {}
    facts: dict[tuple[Any, ...], tuple[str, bool, int | None]] = {}
    for branch in conf.branches:
        branch_name = str(repo.get_branch_name(branch))
        on_branch = set(repo.get_branch_commits(branch))
        for result in results:
            commit = commits.get(result.commit_hash)
            if commit is None or commit.hash not in on_branch:
                continue
            place = (str(result.params.get("machine", "")), str(result.env_name), branch_name)
            for name, kind, params, declared, point in _points(result, commit, benchmarks):
                key = (name, params, *place)
                points.setdefault(key, []).append(point)
                facts[key] = (kind, declared, _int_or_none(result.params.get("num_cpu")))
    series = tuple(
        Series(
            benchmark=key[0],
            params=key[1],
            machine=key[2],
            environment=key[3],
            branch=key[4],
            type=facts[key][0],
            declared=facts[key][1],
            n_cpu=facts[key][2],
            points=tuple(sorted(points[key], key=lambda p: p.commit.order)),
        )
        for key in sorted(points, key=_natural)
    )
    measured = {p.commit for s in series for p in s.points}
    return History(str(conf.project), series, tuple(sorted(measured, key=lambda c: c.order)))


def read_commits(repo: Any, hashes: Iterable[str]) -> dict[str, Commit]:
    """Order, author, date and subject of ``hashes``; those the repository lacks are left out."""
    orders: dict[str, int] = repo.get_revisions(set(hashes))
    texts = _git_texts(repo, sorted(orders))
    commits = {}
    for commit_hash, order in orders.items():
        author, date_ms, subject = texts.get(commit_hash, ("", 0, ""))
        commits[commit_hash] = Commit(commit_hash, order, date_ms, author, subject)
    return commits


def hashes_between(repo: Any, good: str, bad: str) -> tuple[str, ...]:
    """Commits after ``good`` up to and with ``bad``, oldest first, along first parents."""
    found: Sequence[str] = repo.get_hashes_from_range(repo.get_range_spec(good, bad))
    return tuple(reversed(found))


def _points(
    result: Any, commit: Commit, benchmarks: Mapping[str, Any]
) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...], bool, Point]]:
    current = result.get_result_keys(benchmarks)
    for name in result.get_all_result_keys():
        about = benchmarks.get(name)
        if about is None:
            kind = _kind_of_undeclared(name)
        elif name in current and about.get("unit") == "bytes":
            kind = str(about.get("type", ""))
        else:  # not memory, or measured by another version of the benchmark
            continue
        if kind is None:
            continue
        names = [] if about is None else list(about.get("param_names", []))
        axes = result.get_result_params(name) or []
        declared = {()} if about is None else set(itertools.product(*about.get("params", [])))
        rows = zip(
            itertools.product(*axes),
            result.get_result_value(name, axes),
            result.get_result_samples(name, axes),
            result.get_result_stats(name, axes),
            strict=False,
        )
        for values, value, samples, stats in rows:
            labels = names if len(names) == len(values) else [f"param{i + 1}" for i in range(9)]
            yield (
                name,
                kind,
                tuple(zip(labels, (str(v) for v in values), strict=False)),
                about is not None and values in declared,
                _point(commit, kind, value, samples, stats, result.started_at.get(name)),
            )


def _point(
    commit: Commit, kind: str, value: Any, samples: Any, stats: Any, started_ms: Any
) -> Point:
    stats = stats or {}
    status = "ok"
    if value is None:
        status = "failed"
    elif not math.isfinite(value):  # asv writes NaN for a benchmark that skipped itself
        status = "skipped"
    number = int(stats.get("number") or 1)
    method = {"peakmemory": "ru_maxrss", "steppeak": "hwm"}.get(kind, "tracked")
    if kind == "steppeak" and number & _NUMBER_SAMPLED_FLAG:
        method = "sampled"
    quartiles = None
    if stats.get("q_25") is not None and stats.get("q_75") is not None:
        quartiles = (float(stats["q_25"]), float(stats["q_75"]))
    return Point(
        commit=commit,
        status=status,
        value_bytes=round(value) if status == "ok" else None,
        samples_bytes=_whole(samples) if samples else None,
        quartiles_bytes=quartiles,
        n_measurements=int(stats.get("repeat") or 1) if status == "ok" else 0,
        method=method,
        quiet_allocator=not number & _NUMBER_LOUD_FLAG if kind == "steppeak" else None,
        measured_ms=_int_or_none(started_ms),
    )


def _whole(samples: Iterable[Any]) -> tuple[int, ...]:
    return tuple(round(s) for s in samples if s is not None and math.isfinite(s))


def _kind_of_undeclared(name: str) -> str | None:
    last = name.rsplit(".", 1)[-1]
    return next((k for prefix, k in _BYTE_PREFIXES.items() if last.startswith(prefix)), None)


def _git_texts(repo: Any, hashes: Sequence[str]) -> dict[str, tuple[str, int, str]]:
    """``hash -> (author, author date in ms, subject)``; empty outside git."""
    path = getattr(repo, "_path", None)
    if getattr(repo, "dvcs", None) != "git" or path is None or not hashes:
        return {}
    # Through stdin: ten thousand hashes do not fit a command line.
    done = subprocess.run(
        [
            "git",
            "-C",
            path,
            "log",
            "--no-walk=unsorted",
            "--stdin",
            "--format=%H%x00%an%x00%at%x00%s",
        ],
        input="\n".join(hashes).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise EnvironmentFault(f"{path}: git log failed: {done.stderr.decode(errors='replace')}")
    texts = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        fields = line.split("\0")
        if len(fields) == 4:
            texts[fields[0]] = (fields[1], int(fields[2]) * 1000, fields[3])
    return texts


def _natural(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort numbers among the parameters as numbers: 64 before 4096."""
    name, params, *place = key

    def rank(value: str) -> tuple[float, str]:
        try:
            return float(value), value
        except ValueError:
            return math.inf, value

    return name, [(label, rank(value)) for label, value in params], place


def _int_or_none(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
