"""Fixtures of every test, and the rule that CI skips nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("FOXBENCH_SHARED_DATA", ROOT.parent / "shared" / "data"))
REAL_6E = SHARED_DATA / "6EH4.XCME_1min_bars_20240101_20240131.csv.gz"


@pytest.fixture(scope="session")
def real_6e() -> Path:
    """29,996 one-minute bars of 6EH4, January 2024; skips where they are not."""
    if not REAL_6E.exists():
        pytest.skip(f"real market data not found: {REAL_6E.name} (set FOXBENCH_SHARED_DATA)")
    return REAL_6E


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be: {report.longrepr}"
    return report
