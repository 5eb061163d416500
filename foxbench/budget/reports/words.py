"""The words of every report: what a cell says, the same in each format."""

from __future__ import annotations

from collections.abc import Sequence

from foxbench.budget.result import Coresidence, Row, Validation
from foxbench.profile.report import mib
from foxbench.text import plain

#: Heads of the table; sizes are in MiB, their error bound stands below it.
COLUMNS = (
    "model",
    "covers",
    "expected",
    "actual",
    "delta",
    "budget",
    "headroom",
    "status",
    "process",
    "a step",
    "train s",
    "loss",
    "bars",
)
#: How many of them, from the left, are text and not numbers.
N_TEXT = 2
STATUS_COLUMN = COLUMNS.index("status")

NOTHING = "-"

VERDICTS = {
    "ok": "every model fits its budget",
    "over_budget": "over budget",
    "incomplete": "incomplete: not every model has a figure",
}

LEGEND = (
    "whole: the process's peak, libraries and data included. growth: the peak from build on above "
    "the resident set when building began. step: the peak of a warm step above the resident set "
    "before it. process: the whole's peak again, a step: the step's, whatever the budget covers. "
    "On cuda: what torch reserved."
)


def cells(row: Row) -> tuple[str, ...]:
    """One row of the table, in the order of ``COLUMNS``."""
    status = row.status.replace("_", " ")
    if row.budget_bytes is None and row.status == "ok":
        status = "no budget"
    return (
        plain(row.name),
        row.covers,
        size(row.expected_bytes),
        actual(row),
        delta(row),
        size(row.budget_bytes),
        size(row.headroom_bytes),
        status,
        _at_least(row.peak_bytes, row.peak_err_bytes),
        size(row.step_peak_bytes),
        NOTHING if row.seconds is None else f"{row.seconds:,.1f}",
        NOTHING if row.final_loss is None else f"{row.final_loss:.4g}",
        NOTHING if row.bars is None else f"{row.bars:,}",
    )


def actual(row: Row) -> str:
    """The figure; of a run that ended early what was seen, a lower bound of the whole."""
    if row.measured_bytes is not None:
        return _at_least(row.measured_bytes, row.measured_err_bytes)
    if row.seen_peak_bytes is not None and (row.device, row.covers) == ("host", "whole"):
        return f">= {mib(row.seen_peak_bytes)}"
    return NOTHING


def _at_least(n_bytes: int | None, err_bytes: int | None) -> str:
    """A size, marked where it has no error bound and is a lower bound."""
    return (">= " if n_bytes is not None and err_bytes is None else "") + size(n_bytes)


def delta(row: Row) -> str:
    """The difference to what was expected; inside the noise band it is none."""
    if row.delta_bytes is None:
        return NOTHING
    return f"{row.delta_bytes / 2**20:+,.2f}" if row.changed else "within noise"


def size(n_bytes: int | None) -> str:
    """MiB, or the sign for nothing."""
    return NOTHING if n_bytes is None else mib(n_bytes)


def notes(row: Row) -> list[tuple[str, str]]:
    """Label and text of what a row's cells cannot say."""
    found = []
    if row.error is not None:
        where = f" in {row.error.phase}" if row.error.phase else ""
        where += f", step {row.error.step}" if row.error.step else ""
        found.append(("error", plain(f"{row.error.kind}{where}: {row.error.message}")))
    if row.measured_bytes is None and row.seen_peak_bytes is not None:
        found.append(
            ("seen", f"{mib(row.seen_peak_bytes)} MiB of the whole process, a lower bound")
        )
    if row.analytic is not None:
        found.append(("step", step_account(row)))
    found += [("note", plain(warning)) for warning in row.warnings]
    return found


def step_account(row: Row) -> str:
    """The step peak by arithmetic beside the measured one."""
    account = row.analytic
    assert account is not None
    text = f"{mib(account.step_peak_bytes)} MiB by its arithmetic (at {plain(account.peak_at)})"
    if row.step_peak_bytes is None or account.unexplained_bytes is None:
        return text
    rest = f"{account.unexplained_bytes / 2**20:+,.2f}"
    return f"{mib(row.step_peak_bytes)} MiB measured, {text}, {rest} unexplained"


def together(found: Coresidence, device: str) -> list[str]:
    """What fits beside what."""
    if found.sum_bytes is None:
        return ["no model has a figure"]
    kind = "an upper bound: pages that processes share count once for each"
    if not found.upper_bound:
        kind = "no bound: one of the peaks is itself a lower bound"
    lines = [f"{mib(found.sum_bytes)} MiB in all, {kind}"]
    if found.limit_bytes is None:
        return [*lines, f"no [device.{device}] limit to hold it against"]
    limit = f"the limit of {mib(found.limit_bytes)} MiB"
    if found.fits:
        lines.append(f"all fit together below {limit}")
    else:
        lines += [f"fits below {limit}: {names(chosen)}" for chosen in found.sets]
        if found.more_sets:
            lines.append("and further sets")
    if found.alone_too_large:
        lines.append(f"above {limit} alone: {names(found.alone_too_large)}")
    if found.left_out:
        lines.append(f"left out, without a figure: {names(found.left_out)}")
    return lines


def names(of: Sequence[str]) -> str:
    """``dqn + ppo``."""
    return " + ".join(plain(name) for name in of)


def facts(validation: Validation) -> list[tuple[str, str]]:
    """Label and text of what the figures rest on."""
    bars = "every bar" if validation.max_bars is None else f"{validation.max_bars:,} bars"
    epochs = sorted({row.epochs for row in validation.models if row.epochs is not None})
    plural = "" if epochs == [1] else "s"
    passes = f", {'/'.join(map(str, epochs))} epoch{plural}" if epochs else ""
    files = ", ".join(plain(path.rpartition("/")[2]) for path in validation.files)
    kind = "synthetic bars, made for this run" if validation.synthetic else "bars"
    allocator = "quiet allocator" if validation.quiet_allocator else "default allocator"
    cut = ", cut short" if any(row.bounded for row in validation.models) else ""
    found = [
        ("budgets", plain(validation.budgets)),
        (
            "trained on",
            f"{kind}: {files}; at most {bars} of each{passes}{cut} ({validation.preset})",
        ),
        ("took", f"{validation.seconds:,.1f} s"),
    ]
    bounds = [r.measured_err_bytes for r in validation.models if r.measured_err_bytes]
    if bounds:
        found.append(("error bound", f"every figure may lie up to {mib(max(bounds))} MiB higher"))
    how = validation.provenance
    if how is not None:
        mark = "high-water mark" if how.hwm_reset else "samples only: lower bounds"
        torch = f"torch {how.torch}, " if how.torch else ""
        found.append(
            (
                "measured by",
                f"{mark} + {how.hz:g} Hz samples, {allocator}, {how.threads} thread, {torch}"
                f"Python {how.python}, Linux {how.kernel}",
            )
        )
    if validation.interrupted is not None:
        found.append(("interrupted", "what was not trained by then has no figure"))
    return found
