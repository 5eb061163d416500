"""The published memory page in a real browser without a network."""

from __future__ import annotations

import pytest
import stored_history
from foreign_repo import ForeignRepo

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    repo = ForeignRepo.create(tmp_path_factory.mktemp("page"))
    stored_history.build(repo)
    memory, _ = repo.publish()
    return repo.root / "html", memory


@pytest.fixture
def opened(visit, published):
    """``opened(**context options)`` -> page with its plot drawn."""

    def go(address="memory.html", **options):
        page = visit(
            f"{(published[0] / address.split('#')[0]).as_uri()}{address[len('memory.html') :]}",
            **options,
        )
        page.wait_for_selector("#figure[data-series] svg.main-svg .scatterlayer .point")
        return page

    return go


def test_the_plot_is_drawn_with_every_commit_and_the_worst_series_first(
    opened, published, tmp_path
):
    page = opened()
    shown = page.get_attribute("#figure", "data-series")
    memory = published[1]
    assert shown == next(r["series"] for r in memory["regressions"] if r["standing"])
    points = page.locator("#figure .scatterlayer .point").count()
    assert points >= stored_history.N_COMMITS
    page.screenshot(path=tmp_path / "memory.png", full_page=True)
    assert (tmp_path / "memory.png").stat().st_size > 20_000


def test_regressions_show_bytes_first_then_percent_then_commit(opened, published):
    page = opened()
    change = next(r for r in published[1]["regressions"] if "4096" in r["label"])
    item = page.locator("ol.changes li", has_text=change["label"]).first
    text = item.inner_text()
    order = [
        text.index(f"+{change['bytes'] / 2**20:.2f} MiB"),
        text.index(f"+{change['percent']:.1f} %"),
    ]
    order.append(text.index(change["commit"][:8]))
    assert order == sorted(order)
    assert "Keep activations" in text
    assert "Ada &amp; Lovelace" in text


def test_names_of_strangers_are_text_everywhere(opened, published, tmp_path):
    page = opened()
    odd = next(s for s in published[1]["series"] if s["benchmark"] == "step.Odd.steppeak_step")
    page.select_option("#pick", odd["id"])
    page.wait_for_selector(f"#figure[data-series={odd['id']}]")
    flagged = next(r["series"] for r in published[1]["regressions"] if "4096" in r["label"])
    page.select_option("#pick", flagged)
    page.wait_for_selector(f"#figure[data-series={flagged}]")
    page.locator("#detail").scroll_into_view_if_needed()  # below the plot: all of it is in view
    box = page.locator("#figure .textpoint").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] + 12)
    hover = page.wait_for_selector("#figure .hoverlayer .hovertext")
    assert stored_history.HOSTILE in hover.text_content()
    page.screenshot(path=tmp_path / "hover.png")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert stored_history.HOSTILE in page.locator("table.now").inner_text()


def test_a_series_is_picked_by_keyboard_and_its_address_opens_it_again(opened, published):
    page = opened()
    link = page.locator("table.now a[data-series]").last
    wanted = link.get_attribute("data-series")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#figure[data-series={wanted}]")
    assert page.evaluate("document.activeElement.id") == "plot"
    again = opened("memory.html" + page.evaluate("location.hash"))
    assert again.get_attribute("#figure", "data-series") == wanted


def test_dark_and_narrow_screens_are_served(opened, tmp_path):
    page = opened(color_scheme="dark")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(int(c) for c in background.strip("rgb()").split(",")) < 150
    page.screenshot(path=tmp_path / "dark.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.querySelector('#figure svg.main-svg').clientWidth < 390")
    page.screenshot(path=tmp_path / "narrow.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
