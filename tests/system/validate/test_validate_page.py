"""The page of a real validation in a real browser without a network."""

import pytest
from validate_runs import budget_of, budgets, validate

pytestmark = pytest.mark.browser

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


@pytest.fixture
def opened(visit, page_file):
    """``opened(**context options)`` -> page."""
    return lambda **options: visit(page_file.as_uri(), **options)


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
