"""A run's timeline as a picture: the resident set over time, its phases, their peaks, the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foxbench.profile import figure
from foxbench.profile.figure import ACCENT, INK, LIMIT, style
from foxbench.profile.result import Phase
from foxbench.text import plain

_MIB = 2**20

#: Points that are drawn at the most; of those between, the largest and the smallest are kept.
MAX_POINTS = 1500

#: Inches: the whole's width, the picture's height, a row of labels', what lies below and what
#: lies below and above together.
_WIDTH, _PICTURE, _ROW, _BELOW, _AROUND = 9.6, 2.1, 0.155, 0.48, 0.92

#: Rows of labels above the picture, and a character's width as a share of it.
_ROWS = 8
_CHARACTER = 0.0094

_UNITS = (("hours", 3600e9, 2 * 3600e9), ("minutes", 60e9, 2 * 60e9), ("seconds", 1e9, 0.0))


@dataclass(frozen=True)
class _Envelope:
    """Smallest and largest samples of each point, times in ns."""

    at_ns: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class _Label:
    """A phase's text: where its phase is and where it begins, as shares of the width; its row."""

    text: str
    middle: float
    left: float
    row: int


def timeline_svg(table: Any, phases: Sequence[Phase], line_bytes: int | None, title: str) -> str:
    """The picture as an ``<svg>`` element to stand in a page, see :func:`figure.svg`.

    Parameters
    ----------
    table : pyarrow.Table
        Of :mod:`foxbench.sampler.timeline_file`.
    phases : sequence of Phase
    line_bytes : int or None
        A limit to draw, in bytes of resident set.
    title : str
    """
    key = (title, line_bytes, phases)
    return figure.svg(lambda: _figure(table, phases, line_bytes, title), key)


def write_png(
    table: Any, phases: Sequence[Phase], line_bytes: int | None, title: str, path: Path
) -> None:
    """The same picture as a PNG file, written whole or not at all.

    Raises
    ------
    EnvironmentFault
        The folder cannot be written to.
    """
    figure.write_png(lambda: _figure(table, phases, line_bytes, title), path)


def _figure(table: Any, phases: Sequence[Phase], line_bytes: int | None, title: str) -> Any:
    from matplotlib.figure import Figure

    samples = _envelope(table)
    end_ns = max([1e6, *samples.at_ns[-1:], *(p.begin_ns + p.wall_ns for p in phases)])
    unit, scale, _ = next(one for one in _UNITS if end_ns >= one[2])
    labels = _layout(phases, end_ns)
    rows = 1 + max((label.row for label in labels), default=-1)
    height = _PICTURE + rows * _ROW + _AROUND
    made = Figure(figsize=(_WIDTH, height))
    axes = made.add_axes((0.075, _BELOW / height, 0.905, _PICTURE / height))
    axes.set_xlim(0, end_ns / scale)
    style(axes)
    for number, phase in enumerate(phases):
        begin, end = phase.begin_ns / scale, (phase.begin_ns + phase.wall_ns) / scale
        axes.axvspan(begin, end, color=INK, alpha=0.035 + 0.055 * (number % 2), linewidth=0)
        peak = phase.peak_bytes / _MIB
        axes.plot([begin, end], [peak, peak], color=INK, linewidth=1.0)
    at, low, high = samples.at_ns / scale, samples.low / _MIB, samples.high / _MIB
    if len(at):
        if (high > low).any():
            axes.fill_between(at, low, high, color=ACCENT, alpha=0.3, linewidth=0)
        axes.plot(at, high, color=ACCENT, linewidth=1.2, marker="." if len(at) == 1 else None)
    else:
        _note(axes, "no samples were kept")
    if line_bytes is not None:
        _limit(axes, line_bytes)
    axes.set_ylim(*_range(samples, phases, line_bytes))
    _labels(axes, labels, _ROW / _PICTURE)
    axes.set_xlabel(unit, color=INK)
    axes.set_ylabel("resident, MiB", color=INK)
    # Not mathtext: a name may hold what TeX takes for a formula.
    top = 1 - 0.08 / height
    made.text(
        0.075, top, plain(title), color=INK, fontsize=10, weight="bold", va="top", parse_math=False
    )
    return made


def _envelope(table: Any) -> _Envelope:
    """The samples, thinned so that no extreme is lost."""
    columns = [table.column(name).to_numpy() for name in ("max_ns", "min_bytes", "max_bytes")]
    at_ns, low, high = (np.asarray(column, dtype=np.float64) for column in columns)
    if len(at_ns) > MAX_POINTS:
        starts = np.linspace(0, len(at_ns), MAX_POINTS, endpoint=False).astype(np.int64)
        at_ns = at_ns[starts]
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    return _Envelope(at_ns, low, high)


def _range(
    samples: _Envelope, phases: Sequence[Phase], line_bytes: int | None
) -> tuple[float, float]:
    """From the smallest to the largest figure, with room; from 0 where that is near."""
    sizes = [*samples.low, *samples.high, *(p.peak_bytes for p in phases)]
    if line_bytes is not None:
        sizes.append(line_bytes)
    if not sizes:
        return 0.0, 1.0
    low, high = min(sizes) / _MIB, max(sizes) / _MIB
    room = max(0.06 * (high - low), 0.5)
    return (0.0 if low < 0.4 * high else low - room), high + room


def _limit(axes: Any, line_bytes: int) -> None:
    axes.axhline(line_bytes / _MIB, color=LIMIT, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.text(
        0.995,
        line_bytes / _MIB,
        f"limit {line_bytes / _MIB:,.1f}",
        transform=axes.get_yaxis_transform(),
        color=LIMIT,
        fontsize=8,
        ha="right",
        va="bottom",
    )


def _layout(phases: Sequence[Phase], end_ns: float) -> tuple[_Label, ...]:
    """Where each phase's name and peak go: to the right of its middle, from right to left, each
    in the lowest row with room.  So no line to a label crosses another one.
    """
    free = [1.0 + 1e-9] * _ROWS  # up to where each row is
    found: list[_Label] = []
    for phase in reversed(phases):
        text = f"{plain(phase.name)} {phase.peak_bytes / _MIB:,.1f}"
        middle = (phase.begin_ns + phase.wall_ns / 2) / end_ns
        width = len(text) * _CHARACTER
        left = min(middle, 1 - width)
        row = next((r for r in range(_ROWS) if left + width <= free[r]), None)
        if row is None:
            continue  # the table of phases has it
        free[row] = left - 0.012
        found.append(_Label(text, middle, left, row))
    return tuple(found)


def _labels(axes: Any, labels: Sequence[_Label], row_height: float) -> None:
    """Names and peaks above the picture; ``row_height`` as a share of it."""
    for label in labels:
        height = 1.0 + (0.4 + label.row) * row_height
        axes.plot(
            [label.middle, label.middle],
            [1.0, height],
            transform=axes.transAxes,
            color=INK,
            alpha=0.35,
            linewidth=0.6,
            clip_on=False,
        )
        axes.text(
            label.left,
            height,
            label.text,
            transform=axes.transAxes,
            color=INK,
            fontsize=8,
            va="bottom",
            parse_math=False,
        )


def _note(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, color=INK, ha="center", va="center")
