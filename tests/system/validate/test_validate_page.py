"""The page of a real validation in a real browser without a network."""

import shutil

import pytest
from validate_runs import budget_of, budgets, validate

pytestmark = pytest.mark.browser

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

HOSTILE = '<img src=x onerror=\\"window.pwned=1\\"></svg><script>window.pwned=1</script>'


@pytest.fixture(scope="module")
def page_file(tmp_path_factory, make_folder):
    folder = make_folder(tmp_path_factory.mktemp("page"))
    budgets(
        folder,
        budget_of("Plain", "2 GB", f'owner = "{HOSTILE}"', f'reason = "{HOSTILE}"'),
        budget_of("Whole", "110 MiB", 'covers = "growth"'),
        budget_of("KilledHard", "2 GB"),
    )
    code, _, err = validate(folder, "--html=v.html")
    assert code == 3, err
    return folder / "v.html"


@pytest.fixture(scope="module")
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
def opened(browser, page_file):
    """``opened(**context options)`` -> page; fails later on any complaint."""
    contexts, complaints = [], []

    def go(**options):
        context = browser.new_context(
            offline=True, viewport={"width": 1280, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url),
        )
        page.goto(page_file.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def test_each_run_that_kept_its_samples_has_its_plot_and_the_other_says_why_not(opened):
    page = opened()
    runs = page.locator("section.run")
    assert runs.count() == 3
    for i in range(2):
        box = runs.nth(i).locator("svg").bounding_box()
        assert box["width"] > 400
        assert box["height"] > 100
    assert runs.nth(2).locator("svg").count() == 0
    assert "No timeline" in runs.nth(2).inner_text()
    assert "SIGKILL" in runs.nth(2).inner_text()


def test_phases_and_the_budget_can_be_read_in_the_plot(opened):
    text = opened().locator("section.run svg").nth(1).text_content()
    for word in ("features", "step"):
        assert word in text


def test_a_strangers_words_are_text(opened):
    page = opened()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, script").count() == 0
    assert "<img src=x" in page.locator("section.run").first.inner_text()


def test_the_page_follows_dark_and_light_and_fits_a_phone(opened, tmp_path):
    grounds = []
    for scheme in ("light", "dark"):
        page = opened(color_scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
    assert grounds[0] != grounds[1]
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
