"""What a running training is doing: on a terminal a bar, elsewhere a line now and then."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from foxbench.profile.report import mib, number

#: Seconds between two lines of a run whose output goes to a file or a pipe.
LINE_EVERY_S = 30.0


class TrainingProgress:
    """Takes the records of a log as they appear; writes to a console.

    Parameters
    ----------
    out : Console
        Standard error, so that tables and JSON stay clean.
    """

    def __init__(self, out: Console) -> None:
        self._out = out
        drawn = out.is_terminal and not out.is_dumb_terminal  # TERM=dumb cannot redraw a line
        self._bar = _bar(out) if drawn else None
        self._task: TaskID | None = None
        self._rss_bytes: int | None = None
        self._loss: float | None = None
        self._plan: dict[str, Any] = {}
        self._begin_s = self._said_s = time.monotonic()

    def __enter__(self) -> TrainingProgress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None, now="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, record: dict[str, Any]) -> None:
        """Take one record; see :mod:`foxbench.profile.log`."""
        kind = record["kind"]
        if kind == "plan":
            self._plan = record
        elif kind == "begin":
            self._begin_s = self._said_s = time.monotonic()
            self._show(description=record["name"], total=self._total(record), completed=0)
        elif kind == "rss":
            self._rss_bytes = record["rss_bytes"]
            self._show()
        elif kind == "step":
            self._loss, self._rss_bytes = record["loss"], record["rss_bytes"]
            self._show(completed=self._done(record["n"]))
            self._line(record["n"])
        elif kind == "phase":
            self._out.print(
                f"{record['name']:<12} {record['wall_ns'] / 1e9:8.2f} s   "
                f"peak {mib(record['peak_bytes']):>10} MiB"
            )

    def left_s(self, n: int) -> float | None:
        """Seconds that the warm steps will still take after step ``n``; None while unknown."""
        elapsed = time.monotonic() - self._begin_s
        if self._plan.get("seconds") is not None:
            return max(0.0, float(self._plan["seconds"]) - elapsed)
        if self._plan.get("total") is None or n < 2:
            return None
        return elapsed / (n - 1) * float(self._plan["total"] - n)

    def _total(self, record: dict[str, Any]) -> float | None:
        """Of the bar: warm steps, or seconds where time ends them; None elsewhere."""
        if record["name"] != "step":
            return None
        seconds, total = self._plan.get("seconds"), self._plan.get("total")
        return seconds if seconds is not None else total - 1 if total is not None else None

    def _done(self, n: int) -> float:
        if self._plan.get("seconds") is not None:
            return time.monotonic() - self._begin_s
        return n - 1

    def _show(self, **changes: Any) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, now=self._now(), **changes)

    def _now(self) -> str:
        loss = "" if self._loss is None else f"   loss {number(self._loss)}"
        rss = "" if self._rss_bytes is None else f"RSS {mib(self._rss_bytes)} MiB"
        return rss + loss

    def _line(self, n: int) -> None:
        now = time.monotonic()
        if self._bar is not None or now - self._said_s < LINE_EVERY_S:
            return
        self._said_s = now
        of = "" if self._plan.get("total") is None else f" of {self._plan['total']:,}"
        left = self.left_s(n)
        rest = "" if left is None else f"   {left:,.0f} s left"
        self._out.print(f"{'':<12} step {n:,}{of}   {self._now()}{rest}", soft_wrap=True)


def _bar(out: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
        console=out,
        transient=True,
    )
