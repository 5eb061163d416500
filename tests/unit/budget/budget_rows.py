"""Profiles, cases and validations for tests that need no run."""

import dataclasses
import datetime

from foxbench.budget.budgets import Budget
from foxbench.budget.coresidence import coresidence
from foxbench.budget.result import SCHEMA_VERSION, Validation
from foxbench.budget.verdict import Case, judge, overall
from foxbench.profile.result import Failure, Losses, Phase, Profile, Provenance, Steps

MIB = 2**20
ERR = 768 * 1024

#: What a name may hold when a stranger chose it.
HOSTILE = '</script><img src=x onerror="window.pwned=1">[red]|`*_\x1b[31m{{ 7 * 7 }}'


def phase(name, peak_bytes, rss_begin_bytes=90 * MIB, err_bytes=ERR):
    return Phase(
        name=name,
        begin_ns=0,
        wall_ns=1_500_000_000,
        user_ns=0,
        system_ns=0,
        rss_begin_bytes=rss_begin_bytes,
        rss_end_bytes=rss_begin_bytes,
        peak_bytes=peak_bytes,
        peak_err_bytes=err_bytes,
        peak_kind="hwm" if err_bytes is not None else "sampled",
        step_peak_bytes=peak_bytes - rss_begin_bytes,
        minor_faults=0,
        major_faults=0,
        voluntary_ctxt_switches=0,
        involuntary_ctxt_switches=0,
    )


def profile(peak_bytes=300 * MIB, err_bytes=ERR, **changes):
    """A finished run whose whole peak is in its features, before building began."""
    values = {
        "schema_version": 2,
        "status": "ok",
        "model": "dqn",
        "config": {"batch": 64},
        "file": "/data/es.parquet",
        "more_files": (),
        "n_bars": {"ES": 1000, "NQ": 500},
        "started_at": "2026-01-01T00:00:00+00:00",
        "device": "cpu",
        "limit": None,
        "peak_bytes": peak_bytes,
        "peak_err_bytes": err_bytes,
        "peak_kind": "hwm" if err_bytes is not None else "sampled",
        "growth_peak_bytes": 40 * MIB,
        "step_peak_bytes": 2 * MIB,
        "device_peak_bytes": None,
        "first_step_peak_bytes": 20 * MIB,
        "file_bytes": 70 * MIB,
        "seen_peak_bytes": peak_bytes,
        "phases": (
            phase("import", 80 * MIB, 10 * MIB, err_bytes),
            phase("features", peak_bytes, 80 * MIB, err_bytes),
            phase("build", 110 * MIB, 100 * MIB, err_bytes),
            phase("first_step", 140 * MIB, 110 * MIB, err_bytes),
            phase("step", 130 * MIB, 120 * MIB, err_bytes),
        ),
        "steps": Steps(5, 6, 2, 3, 3, False, 5, 2 * MIB, 2 * MIB, 2, 10, 10, 3_000_000_000, None),
        "losses": Losses(1.0, 0.25, (1.0, 0.5)),
        "component_bytes": None,
        "evaluation": None,
        "analytic": None,
        "exit_code": 0,
        "error": None,
        "warnings": (),
        "provenance": Provenance(
            "0", 1, "3.11", "2.13", "2.4", "6.18", 4096, 2, True, 1, 1000.0, True, "glibc"
        ),
    }
    return Profile(**{**values, **changes})


def failed(status="failed", kind="ValueError", **changes):
    """A run that ended in its second step, after 200 MiB."""
    values = {
        "status": status,
        "peak_bytes": None,
        "peak_err_bytes": None,
        "peak_kind": None,
        "growth_peak_bytes": None,
        "step_peak_bytes": None,
        "first_step_peak_bytes": None,
        "seen_peak_bytes": 200 * MIB,
        "phases": profile().phases[:4],
        "error": Failure(kind, "the loss went away", "step", 2, None),
        "exit_code": 3,
    }
    return dataclasses.replace(profile(), **{**values, **changes})


def budget(limit_bytes=325_000_000, **changes):
    values = {
        "model": "dqn",
        "config": {},
        "device": "host",
        "covers": "whole",
        "limit_bytes": limit_bytes,
        "expected_bytes": None,
        "noise_bytes": None,
        "owner": "ada",
        "reason": "measured",
        "expires": datetime.date(2027, 6, 30),
        "where": "line 2",
    }
    return Budget(**{**values, **changes})


def case(held=None, device_limit_bytes=None, model="dqn", config=None, device="host"):
    return Case(model, config or {}, device, held, device_limit_bytes)


def row(model="dqn", measured=None, held=None, **changes):
    made = judge(case(held, model=model), measured or profile(), "/runs/one")
    return dataclasses.replace(made, **changes)


def validation(rows, limit_bytes=4_096_000_000, **changes):
    values = {
        "schema_version": SCHEMA_VERSION,
        "verdict": overall(rows),
        "interrupted": None,
        "device": "host",
        "budgets": "/etc/budgets.toml",
        "preset": "quick",
        "max_bars": 3000,
        "files": ("/data/es.parquet",),
        "synthetic": False,
        "quiet_allocator": True,
        "started_at": "2026-01-01T00:00:00+00:00",
        "seconds": 12.5,
        "models": tuple(rows),
        "coresidence": coresidence(rows, limit_bytes),
        "provenance": profile().provenance,
        "folder": "/runs",
    }
    return Validation(**{**values, **changes})
