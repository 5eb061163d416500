"""The page of real profiles in a real browser without a network."""

import pytest
from profile_runs import foxbench

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made(tmp_path_factory, bars_file):
    """A folder with a page of three runs, and each run's own."""
    import shutil
    from pathlib import Path

    folder = tmp_path_factory.mktemp("page")
    shutil.copy(Path(__file__).with_name("trainers.py"), folder / "my_trainers.py")
    models = "my_trainers:Eager,my_trainers:Raises,my_trainers:KilledHard"
    code, _, err = foxbench(folder, models, bars_file, "1", "--html=all.html", "--limit=1 GiB")
    assert code == 3, err
    return folder


def test_each_run_that_kept_its_samples_has_its_plot_and_the_other_says_why_not(visit, made):
    page = visit((made / "all.html").as_uri())
    runs = page.locator("section.run")
    assert runs.count() == 3
    for i in range(2):
        box = runs.nth(i).locator("svg").bounding_box()
        assert box["width"] > 400
        assert box["height"] > 100
    assert runs.nth(2).locator("svg").count() == 0
    assert "No timeline" in runs.nth(2).inner_text()
    assert page.locator("table").first.locator("tbody tr").count() == 3


def test_a_failure_is_shown_with_what_was_measured_before_it(visit, made):
    text = visit((made / "all.html").as_uri()).locator("section.run").nth(1).inner_text()
    for expected in ("ValueError in step, step 7: the loss went away", "lower bound", "first_step"):
        assert expected in text
    assert "my_trainers.py" in text


def test_the_picture_says_phases_peaks_and_the_limit(visit, made):
    page = visit((made / "all.html").as_uri())
    text = page.locator("section.run svg").first.text_content()
    for word in ("first_step", "resident, MiB", "limit 1,024.0"):
        assert word in text
    # Text, and in the page's own colour: readable on both grounds.
    colours = page.evaluate(
        "[getComputedStyle(document.body).color,"
        " getComputedStyle(document.querySelector('section.run svg text')).fill]"
    )
    assert colours[0] == colours[1]


def test_every_runs_own_page_stands_beside_its_picture(visit, made):
    for directory in (made / "foxbench-runs").iterdir():
        page = visit((directory / "profile.html").as_uri())
        assert page.locator("section.run").count() == 1
        assert (directory / "timeline.png").exists() == bool(page.locator("svg").count())


def test_the_page_follows_dark_and_light_and_fits_a_phone(visit, made):
    grounds = []
    for scheme in ("light", "dark"):
        page = visit((made / "all.html").as_uri(), color_scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
