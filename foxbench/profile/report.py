"""A profile as text for a terminal: MiB here, bytes everywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foxbench.profile.result import Analytic, Part, Phase, Profile

MISSING = "not measured"

#: Heads of the table of all runs.
ALL_COLUMNS = (
    "model",
    "bars",
    "status",
    "peak",
    "± up to",
    "growth",
    "step peak",
    "first step",
    "CPU ms a step",
    "loss",
)
#: How many of them, from the left, are text and not numbers.
N_TEXT_COLUMNS = 3
STATUS_COLUMN = ALL_COLUMNS.index("status")

#: Heads of the table of phases.
PHASE_COLUMNS = (
    "phase",
    "wall s",
    "CPU s",
    "RSS begin",
    "RSS end",
    "peak",
    "± up to",
    "above begin",
    "faults minor/major",
    "ctx switches vol./invol.",
)
_FOLDED = {
    "faults minor/major": "faults\nminor/major",
    "ctx switches vol./invol.": "ctx switches\nvol./invol.",
}

#: Width of a table that goes to a file or a pipe, where there is no terminal to ask.
PLAIN_WIDTH = 118

#: Enough for every column of any table.
_TABLE_WIDTH = 240

#: Layers or parts of a step that are named in one line; profile.html has all.
_PARTS_SHOWN = 4

_FILES = (
    "profile.json",
    "profile.html",
    "timeline.png",
    "timeline.parquet",
    "log.jsonl",
    "output.txt",
)


def mib(n_bytes: int | None) -> str:
    """MiB with two digits, or the word for a missing value."""
    return MISSING if n_bytes is None else f"{n_bytes / 2**20:,.2f}"


def console(stderr: bool = False) -> Console:
    """A console that does not fold tables at 80 columns when its output is redirected."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)


def show(profile: Profile, directory: Path, out: Console) -> None:
    """Print the table of phases, the headline figures and where the files lie."""
    out.print(f"[bold]{escape(profile.model)}[/] on {escape(profile.file)}{_bars(profile)}")
    if profile.phases:
        out.print(phase_table(profile.phases))
    for label, text in lines(profile):
        out.print(f"  {label:<12} {escape(text)}", soft_wrap=True)
    for warning in profile.warnings:
        out.print(f"  [yellow]{'note':<12}[/] {escape(warning)}", soft_wrap=True)
    if profile.error is not None:
        _show_error(profile, out)
    # A training that was killed, for one, leaves no timeline.
    files = ",".join(name for name in _FILES if (directory / name).exists())
    out.print(f"  {'files':<12} {escape(str(directory))}/{{{files}}}", soft_wrap=True)


def show_all(profiles: Sequence[Profile], out: Console) -> None:
    """Print one line a run; memory in MiB."""
    table = Table(title="all runs, memory in MiB", title_justify="left", box=box.SIMPLE_HEAD)
    for number, name in enumerate(ALL_COLUMNS):
        is_text = number < N_TEXT_COLUMNS
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for profile in profiles:
        table.add_row(*(escape(cell) for cell in all_cells(profile)))
    print_whole(table, out)


def print_whole(table: Table, out: Console) -> None:
    """Print with no digit cut off: a terminal that is too narrow breaks the lines instead."""
    width = out.width
    out.width = max(width, _TABLE_WIDTH)
    try:
        out.print(table, crop=False)
    finally:
        out.width = width


def all_cells(p: Profile) -> tuple[str, ...]:
    """One run under ``ALL_COLUMNS``."""
    steps, losses = p.steps, p.losses
    return (
        p.model,
        Path(p.file).name,
        p.status,
        mib(p.peak_bytes),
        _bound(p),
        mib(p.growth_peak_bytes),
        mib(p.step_peak_bytes),
        mib(p.first_step_peak_bytes),
        _ms(steps.median_cpu_ns if steps else None),
        MISSING if losses is None else number(losses.last),
    )


def _bound(profile: Profile) -> str:
    if profile.peak_bytes is None:
        return MISSING
    return "no bound" if profile.peak_err_bytes is None else mib(profile.peak_err_bytes)


def phase_table(phases: tuple[Phase, ...]) -> Table:
    """One row a phase; memory in MiB."""
    table = Table(title="memory in MiB", title_justify="left", box=box.SIMPLE_HEAD)
    for place, name in enumerate(PHASE_COLUMNS):
        table.add_column(_FOLDED.get(name, name), justify="right" if place else "left")
    for phase in phases:
        table.add_row(*phase_cells(phase))
    return table


def phase_cells(p: Phase) -> tuple[str, ...]:
    """One phase under ``PHASE_COLUMNS``."""
    at_least = ">= " if p.peak_kind == "sampled" else ""
    return (
        p.name,
        f"{p.wall_ns / 1e9:.3f}",
        f"{(p.user_ns + p.system_ns) / 1e9:.3f}",
        mib(p.rss_begin_bytes),
        mib(p.rss_end_bytes),
        at_least + mib(p.peak_bytes),
        "no bound" if p.peak_err_bytes is None else mib(p.peak_err_bytes),
        at_least + mib(p.step_peak_bytes),
        f"{p.minor_faults:,}/{p.major_faults:,}",
        f"{p.voluntary_ctxt_switches:,}/{p.involuntary_ctxt_switches:,}",
    )


def _bars(profile: Profile) -> str:
    if not profile.n_bars:
        return ""
    parts = ", ".join(f"{root} {n:,}" for root, n in profile.n_bars.items())
    warm_up = any(phase.name == "features" for phase in profile.phases)
    after = " after the features' warm-up" if warm_up else ""
    return f" ({escape(parts)} bars{after})"


def lines(profile: Profile) -> list[tuple[str, str]]:
    """Label and text of every headline; a missing figure says so."""
    found = [("status", profile.status)]
    if profile.status == "ok":
        bound = profile.peak_err_bytes
        error = f"+{mib(bound)} at most" if bound is not None else "sampled: a lower bound"
        pages = "" if profile.file_bytes is None else f", {mib(profile.file_bytes)} of it files'"
        found.append(("peak", f"{mib(profile.peak_bytes)} MiB ({error}), whole process{pages}"))
    else:
        found.append(("seen so far", f"{mib(profile.seen_peak_bytes)} MiB, a lower bound"))
    if profile.growth_peak_bytes is not None:
        growth = mib(profile.growth_peak_bytes)
        found.append(("growth", f"{growth} MiB from build on, above the RSS when it began"))
    if profile.device_peak_bytes is not None:
        found.append(("device", f"{mib(profile.device_peak_bytes)} MiB reserved by torch"))
    if profile.limit is not None:
        how = "no limit could be set" if profile.limit.kind is None else profile.limit.kind
        found.append(("limit", f"{mib(profile.limit.bytes)} MiB ({how})"))
    steps = profile.steps
    if steps is not None and steps.median_peak_bytes is not None:
        found.append(
            (
                "step peak",
                f"{mib(steps.median_peak_bytes)} MiB above the settled RSS before it, median of "
                f"{steps.n_settled} steps; largest of all {steps.n_warm} warm ones "
                f"{mib(steps.max_peak_bytes)} (step {steps.max_peak_step})",
            )
        )
        found.append(
            (
                "step time",
                f"{_ms(steps.median_cpu_ns)} ms CPU, {_ms(steps.median_wall_ns)} ms wall, median",
            )
        )
    if steps is not None and steps.part_peak_bytes is not None:
        parts = ", ".join(f"{part} {mib(v)}" for part, v in steps.part_peak_bytes.items())
        found.append(("in its parts", f"{parts} MiB, of one step, above the RSS before it"))
    if profile.first_step_peak_bytes is not None:
        found.append(("first step", f"{mib(profile.first_step_peak_bytes)} MiB"))
    if steps is not None:
        found.append(("steps", _step_plan(profile)))
    if profile.losses is not None:
        means = " ".join(number(v) for v in profile.losses.epoch_means)
        ends = f"{number(profile.losses.first)} first, {number(profile.losses.last)} last"
        found.append(("loss", f"{ends}; mean of each epoch {means}"))
    if profile.evaluation is not None:
        scores = ", ".join(f"{k} {number(v)}" for k, v in profile.evaluation.items())
        found.append(("evaluation", scores))
    if profile.component_bytes is not None:
        parts = " + ".join(f"{k} {mib(v)}" for k, v in profile.component_bytes.items())
        total = mib(sum(profile.component_bytes.values()))
        found.append(("model's own", f"{parts} = {total} MiB"))
    if profile.analytic is not None:
        found += _arithmetic(profile, profile.analytic)
    if profile.provenance is not None:
        found.append(("measured by", _instrument(profile)))
    return found


def _arithmetic(profile: Profile, thought: Analytic) -> list[tuple[str, str]]:
    """Where the bytes should be, and what of the step is left to explain."""
    standing = {
        "params": thought.params_bytes,
        "grads": thought.grads_bytes,
        "optimizer": thought.optimizer_bytes,
        "buffers": thought.buffers_bytes,
        "data": thought.data_bytes,
    }
    kept = sum(part.bytes for part in thought.activations)
    lines = [
        ("arithmetic", " + ".join(f"{k} {mib(v)}" for k, v in standing.items()) + " MiB"),
        ("activations", f"{mib(kept)} MiB: {_largest(thought.activations)}"),
        (
            "its step",
            f"{mib(thought.step_peak_bytes)} MiB in {thought.peak_at}: "
            f"{_largest(thought.peak_parts)}",
        ),
    ]
    rest = profile.unexplained_bytes
    if rest is not None and profile.step_peak_bytes:
        share = 100 * rest / profile.step_peak_bytes
        lines.append(
            ("unexplained", f"{mib(rest)} MiB of the step peak measured, {share:.1f} % of it")
        )
    return lines


def _largest(parts: Sequence[Part]) -> str:
    """The largest parts by name, and the rest in one sum."""
    ordered = sorted(parts, key=lambda part: -part.bytes)
    shown = [f"{part.name} {mib(part.bytes)}" for part in ordered[:_PARTS_SHOWN]]
    rest = sum(part.bytes for part in ordered[_PARTS_SHOWN:])
    return ", ".join(shown + ([f"{len(ordered) - _PARTS_SHOWN} more {mib(rest)}"] if rest else []))


def _step_plan(profile: Profile) -> str:
    steps = profile.steps
    assert steps is not None
    made = steps.n_warm + (1 if profile.losses or steps.n_warm else 0)
    if steps.n_total_asked is None:
        return f"{made} until the time was over"
    text = f"{made} of {steps.n_total_asked}: {steps.epochs_asked} epochs of {steps.per_epoch}"
    return text + (f" (a whole one has {steps.per_full_epoch})" if steps.bounded else "")


def _instrument(profile: Profile) -> str:
    how = profile.provenance
    assert how is not None
    allocator = "quiet allocator" if how.quiet_allocator else "default allocator"
    mark = "high-water mark" if how.hwm_reset else "samples only"
    torch = f"torch {how.torch}, " if how.torch else ""
    return (
        f"{mark} + {how.hz:g} Hz samples, {allocator}, {how.threads} thread, {torch}"
        f"Python {how.python}, Linux {how.kernel}"
    )


def error_words(profile: Profile) -> str:
    """What went wrong, and where, in one line."""
    error = profile.error
    assert error is not None
    where = f" in {error.phase}" if error.phase else ""
    where += f", step {error.step}" if error.step else ""
    return f"{error.kind}{where}: {error.message}"


def _show_error(profile: Profile, out: Console) -> None:
    assert profile.error is not None
    out.print(f"  [red]{'error':<12}[/] {escape(error_words(profile))}", soft_wrap=True)
    if profile.error.traceback:
        last_lines = profile.error.traceback.strip().splitlines()[-8:]
        out.print(escape("\n".join(f"    {line}" for line in last_lines)), soft_wrap=True)


def _ms(value_ns: int | None) -> str:
    return MISSING if value_ns is None else f"{value_ns / 1e6:,.1f}"


def number(value: float | None) -> str:
    """Five significant digits of a loss or a score."""
    return "not finite" if value is None else f"{value:.5g}"
