"""The result of a fit as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.fit.result import Fit, Trial
from foxbench.fit.trainings import Announce
from foxbench.profile.progress import TrainingProgress
from foxbench.profile.report import MISSING, mib
from foxbench.profile.runner import Listener
from foxbench.sizes import format_bytes


def announcer(setting: str, out: Console) -> Announce:
    """Says on a console which training begins."""

    @contextmanager
    def shown(value: int, predicted_bytes: int | None) -> Iterator[Listener]:
        need = "" if predicted_bytes is None else f", thought to need {mib(predicted_bytes)} MiB"
        out.print(f"[bold]{escape(setting)} {value:,}[/]{need}")
        with TrainingProgress(out) as progress:
            yield progress

    def announce(value: int, predicted_bytes: int | None) -> AbstractContextManager[Listener]:
        return shown(value, predicted_bytes)

    return announce


def show(fit: Fit, out: Console) -> None:
    """Print the trainings, the verdict and where the files lie."""
    limit = format_bytes(fit.limit_bytes)
    out.print(f"[bold]{escape(fit.model)}[/] in {limit}, memory in MiB", soft_wrap=True)
    out.print(_table(fit))
    out.print(f"  {'verdict':<12} {escape(_words(fit))}", soft_wrap=True)
    by = "no limit could be set" if fit.limit_kind is None else fit.limit_kind
    files = "pages of files, which the kernel drops first, left out"
    out.print(f"  {'limit':<12} {fit.limit_bytes:,} bytes, {by}; {files}", soft_wrap=True)
    if fit.config is not None:
        settings = ", ".join(f"{k}={v}" for k, v in fit.config.items())
        out.print(f"  {'settings':<12} {escape(settings)}", soft_wrap=True)
    for trial in fit.trials:
        if trial.status not in ("ok", "oom") and trial.error:
            out.print(f"  [red]{'error':<12}[/] {escape(trial.error)}", soft_wrap=True)
    out.print(f"  {'files':<12} {escape(fit.folder)}", soft_wrap=True)


def _table(fit: Fit) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(fit.setting, justify="right")
    table.add_column("status")
    for name in ("thought to need", "needed", "step peak", "by arithmetic", "s a step"):
        table.add_column(name, justify="right")
    for trial in fit.trials:
        table.add_row(f"{trial.value:,}", trial.status, *_cells(trial))
    return table


def _cells(trial: Trial) -> tuple[str, ...]:
    seconds = MISSING if trial.seconds is None else f"{trial.seconds:,.3f}"
    return (
        mib(trial.predicted_bytes),
        mib(trial.need_bytes) if trial.status == "ok" else MISSING,
        mib(trial.step_peak_bytes),
        mib(trial.analytic_step_peak_bytes),
        seconds,
    )


def _words(fit: Fit) -> str:
    what = f"{fit.setting} {fit.value:,}" if fit.value is not None else fit.setting
    if fit.verdict == "found":
        return f"{what} is the largest: {fit.too_large:,} ran out of memory"
    if fit.verdict == "all_fit":
        return f"{what} fits, and the bars allow no larger one"
    if fit.verdict == "unproven":
        more = "" if fit.too_large is None else f", {fit.too_large:,} does not"
        return f"{what} fits{more}; how much between them does was not found out"
    if fit.verdict == "nothing":
        return f"not even {fit.setting} {min(t.value for t in fit.trials):,} fits"
    return "not measured: a training failed for another reason than want of memory"
