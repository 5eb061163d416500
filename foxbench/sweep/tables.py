"""A sweep as CSV and Parquet: a row a point, a column a setting, null for what is missing."""

from __future__ import annotations

import csv
import io
from typing import Any

from foxbench.sweep.result import SCHEMA_VERSION, Sweep

#: Fields of a row after its settings; units are in their names.
FIGURES = (
    "step_peak_bytes",
    "first_step_peak_bytes",
    "growth_peak_bytes",
    "peak_bytes",
    "peak_err_bytes",
    "analytic_step_peak_bytes",
    "params_bytes",
    "seen_peak_bytes",
    "cpu_ns",
    "wall_ns",
)


def columns(sweep: Sweep) -> dict[str, list[Any]]:
    """Values by column: ``model``, each setting as ``set_NAME``, ``status``, ``error``, figures
    and ``run``.
    """
    rows = sweep.rows
    found: dict[str, list[Any]] = {"model": [row.model for row in rows]}
    for name in sweep.settings:
        found[f"set_{name}"] = [row.settings.get(name) for row in rows]
    for name in ("status", "error", *FIGURES, "run"):
        found[name] = [getattr(row, name) for row in rows]
    return found


def as_csv(sweep: Sweep) -> bytes:
    """RFC 4180 text in UTF-8, a missing value as an empty cell."""
    table = columns(sweep)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return out.getvalue().encode("utf-8", errors="replace")


def as_parquet(sweep: Sweep) -> bytes:
    """The same as Parquet; settings are text, figures int64."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = columns(sweep)
    schema = pa.schema(
        [pa.field(name, pa.int64() if name in FIGURES else pa.string()) for name in table],
        metadata={"foxbench.schema_version": str(SCHEMA_VERSION)},
    )
    out = io.BytesIO()
    pq.write_table(pa.table(table, schema=schema), out)
    return out.getvalue()
