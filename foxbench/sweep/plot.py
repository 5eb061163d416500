"""A sweep as a picture: step peak and CPU time over the first setting that is a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench.profile import figure
from foxbench.profile.figure import INK, LIMIT, style
from foxbench.sweep.result import Row, Sweep
from foxbench.text import plain

_MIB = 2**20

#: Readable on a light and on a dark ground; further lines begin again with another mark.
_COLOURS = ("#3f6fe0", "#c77700", "#1f8a5b", "#a04fc0", "#c0392b", "#0f8fa8")
_MARKS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Line:
    """Points that differ in the setting along x alone.

    Attributes
    ----------
    label : str
    x : tuple of float
    rows : tuple of Row
    """

    label: str
    x: tuple[float, ...]
    rows: tuple[Row, ...]


def svg(sweep: Sweep) -> str:
    """An ``<svg>`` element, see :func:`foxbench.profile.figure.svg`."""
    return figure.svg(lambda: _figure(sweep), (sweep.settings, sweep.rows))


def write_png(sweep: Sweep, path: Path) -> None:
    """The same as a PNG file."""
    figure.write_png(lambda: _figure(sweep), path)


def along(sweep: Sweep) -> str | None:
    """The first setting whose values are numbers, two of them at least; None without one."""
    for name in sweep.settings:
        values = {row.settings[name] for row in sweep.rows if name in row.settings}
        if len(values) > 1 and all(_number(value) is not None for value in values):
            return name
    return None


def lines(sweep: Sweep, setting: str) -> tuple[Line, ...]:
    """One line for each model and each combination of the other settings, x rising."""
    varied = [
        name
        for name in sweep.settings
        if name != setting and len({row.settings.get(name) for row in sweep.rows}) > 1
    ]
    grouped: dict[str, list[tuple[float, Row]]] = {}
    for row in sweep.rows:
        x = _number(row.settings.get(setting, ""))
        if x is None:
            continue
        rest = [f"{name}={row.settings[name]}" for name in varied if name in row.settings]
        label = plain(" ".join(([row.model] if len(sweep.models) > 1 else []) + rest))
        grouped.setdefault(label, []).append((x, row))
    return tuple(
        Line(label, *zip(*sorted(held, key=lambda one: one[0]), strict=True))
        for label, held in grouped.items()
    )


def _figure(sweep: Sweep) -> Any:
    from matplotlib.figure import Figure

    made = Figure(figsize=(9.6, 3.6))
    panels = made.subplots(1, 2)
    setting = along(sweep)
    figures: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
        ("step peak, MiB", lambda row: _scaled(row.step_peak_bytes, _MIB)),
        ("CPU of a step, ms", lambda row: _scaled(row.cpu_ns, 1e6)),
    )
    for axes, (title, value) in zip(panels, figures, strict=True):
        style(axes)
        axes.set_title(title, color=INK, fontsize=10, loc="left")
        if setting is None:
            _bars(axes, sweep.rows, value)
        else:
            _lines(axes, lines(sweep, setting), value, setting)
        axes.set_ylim(bottom=0)
    if setting is not None:
        _analytic(panels[0], lines(sweep, setting))
        _legend(made, panels[0])
    made.subplots_adjust(left=0.065, right=0.985, bottom=0.3, top=0.9, wspace=0.16)
    return made


def _lines(
    axes: Any, of: Sequence[Line], value: Callable[[Row], float | None], setting: str
) -> None:
    xs = sorted({x for line in of for x in line.x})
    if len(xs) > 2 and xs[0] > 0 and xs[-1] / xs[0] >= 4:
        axes.set_xscale("log", base=2)
    axes.set_xticks(xs, [f"{x:,.6g}" for x in xs], rotation=45 if len(xs) > 8 else 0)
    axes.minorticks_off()
    axes.set_xlabel(plain(setting), color=INK, parse_math=False)
    for number, line in enumerate(of):
        drawn = [
            (x, y)
            for x, row in zip(line.x, line.rows, strict=True)
            if (y := value(row)) is not None
        ]
        axes.plot(
            [x for x, _ in drawn],
            [y for _, y in drawn],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKS[number // len(_COLOURS) % len(_MARKS)],
            markersize=4,
            linewidth=1.3,
            label=line.label or "measured",
        )

    pairs = [pair for line in of for pair in zip(line.x, line.rows, strict=True)]
    _failed(axes, [x for x, row in pairs if value(row) is None])


def _analytic(axes: Any, of: Sequence[Line]) -> None:
    """What arithmetic says, dashed."""
    label = "by arithmetic"
    for number, line in enumerate(of):
        known = [
            (x, row.analytic_step_peak_bytes / _MIB)
            for x, row in zip(line.x, line.rows, strict=True)
            if row.analytic_step_peak_bytes is not None
        ]
        if known:
            colour = _COLOURS[number % len(_COLOURS)]
            x, y = zip(*known, strict=True)
            axes.plot(x, y, color=colour, linewidth=1.0, linestyle=(0, (4, 3)), alpha=0.8)
            axes.plot([], [], color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label=label)
            label = "_nothing more in the legend"


def _bars(axes: Any, rows: Sequence[Row], value: Callable[[Row], float | None]) -> None:
    places = list(range(len(rows)))
    heights = [value(row) for row in rows]
    shown = [
        (place, height) for place, height in zip(places, heights, strict=True) if height is not None
    ]
    axes.bar([p for p, _ in shown], [h for _, h in shown], color=_COLOURS[0], alpha=0.75, width=0.6)
    _failed(axes, [place for place, height in zip(places, heights, strict=True) if height is None])
    axes.set_xticks(places, [""] * len(places))
    for place, row in zip(places, rows, strict=True):
        axes.text(
            place,
            -0.03,
            plain(row.label),
            transform=axes.get_xaxis_transform(),
            rotation=20,
            ha="right",
            va="top",
            fontsize=8,
            color=INK,
            parse_math=False,
        )


def _failed(axes: Any, at: Sequence[float]) -> None:
    """A cross on the axis for each point without a figure."""
    if at:
        axes.plot(
            at,
            [0.03] * len(at),
            transform=axes.get_xaxis_transform(),
            color=LIMIT,
            marker="x",
            markersize=7,
            markeredgewidth=1.8,
            linestyle="none",
            label="failed",
        )


def _legend(made: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    legend = made.legend(
        once.values(),
        once.keys(),
        loc="lower left",
        bbox_to_anchor=(0.055, 0.0),
        ncols=min(4, len(once)),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _scaled(value: int | None, by: float) -> float | None:
    return None if value is None else value / by
