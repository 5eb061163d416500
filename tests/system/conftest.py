"""A real browser without a network, which no page may complain in."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on PATH")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """``visit(address, **context options)`` -> page; fails later on any complaint."""
    contexts, complaints = [], []

    def go(address, **options):
        context = browser.new_context(
            offline=True, viewport={"width": 1280, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("requestfailed", lambda r: complaints.append(f"{r.url} {r.failure}"))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url),
        )
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []
