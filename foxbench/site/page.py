"""Turn the document into files: memory.json, memory.html and what the page loads.

The page loads nothing but these files, so it works offline and from ``file://``.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import jinja2

from foxbench.site import units

_STATIC = ("memory.css", "memory.js", "plot.js")
_SPARK_WIDTH, _SPARK_HEIGHT = 96, 24


def write_page(html_dir: Path, document: dict[str, Any]) -> None:
    """Write ``memory.json``, ``memory.html`` and ``memory_static/`` below ``html_dir``."""
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False)
    (html_dir / "memory.json").write_text(text + "\n", encoding="utf-8")
    (html_dir / "memory.html").write_text(render(document), encoding="utf-8")
    static = html_dir / "memory_static"
    static.mkdir(exist_ok=True)
    for name in _STATIC:
        with as_file(files("foxbench.site") / "static" / name) as path:
            shutil.copyfile(path, static / name)
    with as_file(files("plotly") / "package_data" / "plotly.min.js") as path:
        shutil.copyfile(path, static / "plotly.min.js")


def render(document: dict[str, Any]) -> str:
    """The page of ``document``; every name in it is shown as text, whatever it holds."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("foxbench.site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        mib=units.mib,
        delta=units.delta_mib,
        percent=units.percent,
        date=units.date,
        spark=sparkline,
    )
    return environment.get_template("memory.html").render(
        document=document,
        commits={c["hash"]: c for c in document["commits"]},
        groups=_groups(document["series"]),
        standing=[c for c in document["regressions"] if c["standing"]],
        recovered=[c for c in document["regressions"] if not c["standing"]],
        flags=_flags(document),
    )


def _groups(series: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Series by what stands before the last dot, in the document's order."""

    def owner(s: dict[str, Any]) -> str:
        return str(s["benchmark"]).rpartition(".")[0] or str(s["benchmark"])

    return [(name, list(rows)) for name, rows in itertools.groupby(series, key=owner)]


def _flags(document: dict[str, Any]) -> dict[str, str]:
    """Series id -> ``worse`` or ``better``, for those with a change that still stands."""
    flags = {c["series"]: "better" for c in document["improvements"] if c["standing"]}
    flags.update({c["series"]: "worse" for c in document["regressions"] if c["standing"]})
    return flags


def sparkline(series: dict[str, Any]) -> list[str]:
    """Points of a small line over the commits, as SVG polylines; a gap starts a new one.

    The vertical range is at least four noise bands, so that noise looks flat.
    """
    points = series["points"]
    values = [p["bytes"] for p in points if p["bytes"] is not None]
    if not values:
        return []
    span = max(max(values) - min(values), 4 * series["noise_band"]["bytes"])
    top = (max(values) + min(values) + span) / 2
    lines: list[list[str]] = [[]]
    for i, point in enumerate(points):
        if point["bytes"] is None:
            lines.append([])
            continue
        x = 2 + (_SPARK_WIDTH - 4) * i / max(1, len(points) - 1)
        y = 2 + (_SPARK_HEIGHT - 4) * (top - point["bytes"]) / span
        lines[-1].append(f"{x:.1f},{y:.1f}")
    return [" ".join(line) for line in lines if line]
