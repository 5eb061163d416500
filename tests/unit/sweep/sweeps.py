"""Sweeps for tests that train nothing."""

import dataclasses

from foxbench.sweep.result import SCHEMA_VERSION, Row, Sweep

MIB = 2**20


def row(model="dqn", status="ok", **settings):
    size = int(settings.get("batch", "1")) * MIB if status == "ok" else None
    return Row(
        model=model,
        settings=settings,
        status=status,
        error=None if status == "ok" else "RuntimeError: no",
        step_peak_bytes=size,
        first_step_peak_bytes=size,
        growth_peak_bytes=size,
        peak_bytes=size,
        peak_err_bytes=0 if size is not None else None,
        analytic_step_peak_bytes=None if size is None else size + 5,
        params_bytes=7 if size is not None else None,
        seen_peak_bytes=9,
        cpu_ns=size,
        wall_ns=size,
        run="/runs/one",
    )


def sweep(*rows, **changes):
    names = dict.fromkeys(name for one in rows for name in one.settings)
    made = Sweep(
        schema_version=SCHEMA_VERSION,
        models=tuple(dict.fromkeys(one.model for one in rows)),
        settings=tuple(names),
        n_points=len(rows),
        interrupted=None,
        files=("/data/es.parquet",),
        steps=12,
        max_bars=None,
        device="cpu",
        quiet_allocator=True,
        limit_bytes=None,
        started_at="2026-01-01T00:00:00+00:00",
        rows=rows,
        provenance=None,
        folder="/runs",
    )
    return dataclasses.replace(made, **changes)


GRID = sweep(
    *(row(batch=b, hidden=h) for b in ("16", "4", "8") for h in ("1,2", "3")),
    row(status="oom", batch="64", hidden="3"),
)
