"""What every picture shares: its colours, its axes, and how it becomes an element or a file.

Drawn by matplotlib's objects alone, not by pyplot: nothing global is touched.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foxbench.jsonfile import write_atomically

#: Stands for the colour of the text around a picture in SVG.
INK = "#0a0b0c"
ACCENT = "#3f6fe0"
LIMIT = "#d0453b"


def svg(draw: Callable[[], Any], key: object) -> str:
    """A picture as an ``<svg>`` element to stand in a page.

    Text is text, colours follow the page's (``currentColor``), nothing outside is referred to, and
    the same arguments give the same element.

    Parameters
    ----------
    draw : callable
        Makes a ``matplotlib.figure.Figure``.
    key : object
        Ids begin with a hash of its ``repr``: of two pictures in a page they must differ.
    """
    import matplotlib

    salt = hashlib.sha256(repr(key).encode()).hexdigest()[:12]
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": salt, "font.family": "sans-serif"}
    with matplotlib.rc_context(settings):
        out = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        draw().savefig(out, format="svg", transparent=True, metadata=metadata)
    found = out.getvalue()
    found = found[found.index("<svg") :].strip()
    found = re.sub(r"\s*<metadata>.*?</metadata>", "", found, flags=re.DOTALL)
    found = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>t{salt}-", found)
    found = re.sub(r' (width|height)="[\d.]+pt"', "", found, count=2)
    # Its own rule for every element would hold for the whole page.
    found = re.sub(r"\s*<style.*?</style>", "", found, flags=re.DOTALL)
    found = found.replace("<svg", '<svg stroke-linejoin="round" stroke-linecap="butt"', 1)
    return found.replace(INK, "currentColor")


def write_png(draw: Callable[[], Any], path: Path) -> None:
    """A picture as a PNG file, written whole or not at all.

    Raises
    ------
    EnvironmentFault
        The folder cannot be written to.
    """
    out = io.BytesIO()
    draw().savefig(out, format="png", dpi=144)
    write_atomically(path, out.getvalue())


def style(axes: Any) -> None:
    """Quiet axes in the colour of the text."""
    axes.tick_params(colors=INK, labelsize=8)
    axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(lambda value, _position: f"{value:,.6g}")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_alpha(0.5)
