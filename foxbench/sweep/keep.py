"""Writes a sweep in every format, whole or not at all, after each of its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from foxbench import jsonfile
from foxbench.sweep import plot, report, tables
from foxbench.sweep.result import Sweep

#: What each format is made by; pictures are drawn once, at the end.
FORMATS: Mapping[str, Callable[[Sweep], bytes]] = {
    "json": jsonfile.encode,
    "csv": tables.as_csv,
    "parquet": tables.as_parquet,
    "html": report.page,
}


def after_each(sweep: Sweep) -> None:
    """Figures as they stand, in the sweep's folder: what was measured survives what comes."""
    for name in ("json", "csv", "parquet"):
        jsonfile.write_atomically(Path(sweep.folder) / f"sweep.{name}", FORMATS[name](sweep))


def at_the_end(sweep: Sweep, further: Mapping[str, Path]) -> None:
    """Page and picture, and every format that was asked for elsewhere.

    Parameters
    ----------
    sweep : Sweep
    further : mapping of str to Path
        Paths by format.

    Raises
    ------
    EnvironmentFault
        A place cannot be written to; what can be is written first.
    """
    folder = Path(sweep.folder)
    for name, path in further.items():
        jsonfile.write_atomically(path, FORMATS[name](sweep))
    jsonfile.write_atomically(folder / "sweep.html", report.page(sweep))
    if sweep.rows:
        plot.write_png(sweep, folder / "sweep.png")
