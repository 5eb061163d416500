"""``memory.json``: everything the memory page shows, for programs.

Keys, all bytes whole numbers, all times ms since 1970, a missing value ``null`` and never 0:

``schema_version``
    1.  Keys are only added within a version; a changed meaning raises it.
``project``, ``generator``, ``commit_url``
    ``commit_url`` is the prefix of a link to a commit, or null.
``commits``
    Measured commits, oldest first: ``hash``, ``short``, ``order``, ``date_ms`` (author date),
    ``author``, ``subject``.
``series``
    One entry for each benchmark, parameter set, machine, environment and branch: ``id`` (of this
    file only), ``benchmark``, ``params`` (name to value), ``label``, ``machine``,
    ``environment``, ``branch``, ``type``, ``method`` (``hwm``, ``sampled``: a lower bound,
    ``ru_maxrss``, ``tracked``, null), ``quiet_allocator``, ``current`` (``status`` as in
    :class:`foxbench.history.series.Point`, ``bytes``, ``commit``, ``commits_behind``: measured
    commits newer than it), ``noise_band`` (``bytes``, ``source``, ``n_measurements``),
    ``change_vs_previous`` and ``change_vs_best`` (``bytes``, ``percent``, ``commit``,
    ``outside_band``; null where there is nothing to compare), ``points`` (``commit``,
    ``status``, ``bytes``, ``samples_bytes``), ``segments`` (``first_commit``, ``last_commit``,
    ``level_bytes``), ``n_left_out``.
``regressions``, ``improvements``
    Newest first: ``series`` (its id), ``benchmark``, ``params``, ``label``, ``machine``,
    ``kind`` (:data:`foxbench.history.changes.KINDS`), ``bytes``, ``percent``, ``before_bytes``,
    ``after_bytes``, ``noise_band_bytes``, ``good_commit``, ``commit`` (the first measured with
    it), ``commits`` (all that may be guilty, oldest first), ``provisional``, ``standing`` (a
    regression: the series has not come back since; an improvement: it is still below every
    earlier level).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import foxbench
from foxbench.history.changes import Change, Verdict
from foxbench.history.results import History, hashes_between
from foxbench.history.series import Point, Series, readable

SCHEMA_VERSION = 1


def build_document(
    history: History, verdicts: Sequence[Verdict], repo: Any, show_commit_url: str
) -> dict[str, Any]:
    """Put ``history`` and its ``verdicts`` into the shape above.

    Parameters
    ----------
    history : History
    verdicts : sequence of Verdict
        One for each series of ``history``.
    repo : asv.repo.Repo
        Names the commits between two measured ones.
    show_commit_url : str
        asv's setting; used only when it is a http or https address.
    """
    verdicts = sorted(verdicts, key=_display_order)
    found = [(f"s{i}", v, c) for i, v in enumerate(verdicts) for c in v.changes]
    # Newest first, and of one commit the largest first; a failure has no bytes and leads.
    found.sort(
        key=lambda f: (
            -f[2].bad.order,
            f[2].delta_bytes is not None,
            -abs(f[2].delta_bytes or 0),
            f[1].series.label,
        )
    )
    is_link = show_commit_url.startswith(("https://", "http://"))
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": f"foxbench {foxbench.__version__}",
        "project": history.project,
        "commit_url": show_commit_url if is_link else None,
        "commits": [
            {
                "hash": c.hash,
                "short": c.hash[:8],
                "order": c.order,
                "date_ms": c.date_ms,
                "author": c.author,
                "subject": c.subject,
            }
            for c in history.commits
        ],
        "series": [_series(f"s{i}", v, history) for i, v in enumerate(verdicts)],
        "regressions": [_change(i, v, c, repo) for i, v, c in found if c.worse],
        "improvements": [_change(i, v, c, repo) for i, v, c in found if not c.worse],
    }


def _display_order(verdict: Verdict) -> tuple[str, bool, bool, str]:
    """By owner; in each the warm step first, the first step next, asv's own figure last."""
    owner, _, name = verdict.series.benchmark.rpartition(".")
    kind = verdict.series.type
    return (owner, kind != "steppeak", "first_step" in name, verdict.series.label)


def _series(series_id: str, verdict: Verdict, history: History) -> dict[str, Any]:
    series, measured = verdict.series, verdict.series.measured
    newest = measured[-1] if measured else None
    is_current = series.points[-1].status == "ok"
    best = min(measured, key=lambda p: p.value_bytes or 0, default=None)
    return {
        "id": series_id,
        "benchmark": series.benchmark,
        "params": _params(series),
        "label": series.label,
        "machine": series.machine,
        "environment": series.environment,
        "branch": series.branch,
        "type": series.type,
        "method": newest.method if newest else None,
        "quiet_allocator": newest.quiet_allocator if newest else None,
        "current": _current(series, history),
        "noise_band": {
            "bytes": verdict.band.bytes,
            "source": verdict.band.source,
            "n_measurements": verdict.band.n_measurements,
        },
        "change_vs_previous": _versus(newest, measured[-2], verdict.band.bytes)
        if is_current and len(measured) > 1
        else None,
        "change_vs_best": _versus(newest, best, verdict.band.bytes)
        if is_current and len(measured) > 1
        else None,
        "points": [
            {
                "commit": p.commit.hash,
                "status": p.status,
                "bytes": p.value_bytes,
                "samples_bytes": None if p.samples_bytes is None else list(p.samples_bytes),
            }
            for p in series.points
        ],
        "segments": [
            {
                "first_commit": measured[s.begin].commit.hash,
                "last_commit": measured[s.end - 1].commit.hash,
                "level_bytes": s.level_bytes,
            }
            for s in verdict.segments
        ],
        "n_left_out": verdict.n_left_out,
    }


def _current(series: Series, history: History) -> dict[str, Any]:
    last = series.points[-1]
    place = (series.machine, series.environment, series.branch)
    newer = {
        p.commit.order
        for s in history.series
        if (s.machine, s.environment, s.branch) == place
        for p in s.points
        if p.commit.order > last.commit.order
    }
    return {
        "status": last.status,
        "bytes": last.value_bytes,
        "commit": last.commit.hash,
        "commits_behind": len(newer),
    }


def _versus(newest: Point | None, other: Point | None, band_bytes: int) -> dict[str, Any] | None:
    if newest is None or other is None or newest.value_bytes is None or other.value_bytes is None:
        return None
    delta = newest.value_bytes - other.value_bytes
    return {
        "bytes": delta,
        "percent": 100.0 * delta / other.value_bytes if other.value_bytes else None,
        "commit": other.commit.hash,
        "outside_band": abs(delta) > band_bytes,
    }


def _change(series_id: str, verdict: Verdict, change: Change, repo: Any) -> dict[str, Any]:
    return {
        "series": series_id,
        "benchmark": verdict.series.benchmark,
        "params": _params(verdict.series),
        "label": verdict.series.label,
        "machine": verdict.series.machine,
        "kind": change.kind,
        "bytes": change.delta_bytes,
        "percent": change.percent,
        "before_bytes": change.before_bytes,
        "after_bytes": change.after_bytes,
        "noise_band_bytes": change.band_bytes,
        "good_commit": change.good.hash,
        "commit": change.bad.hash,
        "commits": list(hashes_between(repo, change.good.hash, change.bad.hash)),
        "provisional": change.provisional,
        "standing": _is_standing(verdict, change),
    }


def _is_standing(verdict: Verdict, change: Change) -> bool:
    if change.before_bytes is None or change.delta_bytes is None or not verdict.segments:
        return True
    now = verdict.segments[-1].level_bytes
    if change.worse:
        return now - change.before_bytes > change.band_bytes
    # The way down from a spike is no gain: below everything that was there before it is.
    measured = verdict.series.measured
    earlier = [
        s.level_bytes
        for s in verdict.segments
        if measured[s.begin].commit.order <= change.good.order
    ]
    return min(earlier) - now > change.band_bytes


def _params(series: Series) -> dict[str, str]:
    return {name: readable(value) for name, value in series.params}
