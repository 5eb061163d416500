from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from foxbench.history.changes import judge
from foxbench.history.results import History
from foxbench.history.series import Commit, Point, Series
from foxbench.site import units
from foxbench.site.document import build_document
from foxbench.site.navigation import add_link
from foxbench.site.page import render, sparkline, write_page

MIB = 1 << 20
HOSTILE = "</script><script>alert(1)</script>"


class FakeRange:
    """The two questions the document asks of asv's repository, over commits 0, 1, 2, ..."""

    def get_range_spec(self, a, b):
        return a, b

    def get_hashes_from_range(self, spec):
        return [f"{i:040x}" for i in range(int(spec[1], 16), int(spec[0], 16), -1)]


def make_history(levels_mib, name="step.Dqn.steppeak_step", params=(), **about):
    points = []
    for i, mib in enumerate(levels_mib):
        commit = Commit(f"{i:040x}", i, 1_700_000_000_000, "Ada", f"Change {i} {HOSTILE}")
        if mib is None:
            points.append(Point(commit, "failed", None, n_measurements=0))
        else:
            n_bytes = round(mib * MIB)
            points.append(Point(commit, "ok", n_bytes, (n_bytes,) * 3, None, 3, **about))
    series = Series(name, params, "fox", "env", "main", "steppeak", True, 2, tuple(points))
    return History("pro<ject", (series,), tuple(p.commit for p in points))


def document_of(history, url="#"):
    return build_document(history, [judge(s) for s in history.series], FakeRange(), url)


def test_the_document_names_commit_bytes_and_percent_of_a_step():
    document = document_of(make_history([30, 30, 33, 33]))
    (change,) = document["regressions"]
    assert change["commit"] == change["commits"][0] == f"{2:040x}"
    assert (change["bytes"], round(change["percent"], 6)) == (3 * MIB, 10.0)
    assert (change["standing"], change["provisional"]) == (True, False)
    (series,) = document["series"]
    assert series["current"]["bytes"] == 33 * MIB
    assert series["change_vs_previous"]["bytes"] == 0
    assert series["change_vs_best"] == {
        "bytes": 3 * MIB,
        "percent": 10.0,
        "commit": f"{0:040x}",
        "outside_band": True,
    }


def test_every_figure_of_bytes_is_a_whole_number_or_null():
    document = document_of(make_history([30.00001, None, 33.3, 29.7, 29.7]))

    def walk(node, key=""):
        if isinstance(node, dict):
            for k, v in node.items():
                yield from walk(v, k)
        elif isinstance(node, list):
            for v in node:
                yield from walk(v, key)
        elif key.endswith("bytes"):
            yield node

    found = list(walk(document))
    assert len(found) > 10
    assert all(v is None or type(v) is int for v in found)


def test_a_failed_newest_commit_has_no_figure_and_no_comparison():
    document = document_of(make_history([30, 30, None]))
    (series,) = document["series"]
    assert (series["current"]["status"], series["current"]["bytes"]) == ("failed", None)
    assert series["change_vs_previous"] is None
    assert [c["kind"] for c in document["regressions"]] == ["new failure"]


def test_a_spike_is_no_longer_standing_and_its_end_is_no_gain():
    document = document_of(make_history([30, 30, 36, 30, 30]))
    assert [c["standing"] for c in document["regressions"]] == [False]
    assert [c["standing"] for c in document["improvements"]] == [False]


def test_a_fall_below_everything_before_is_a_standing_gain():
    document = document_of(make_history([30, 30, 24, 24]))
    assert [c["standing"] for c in document["improvements"]] == [True]


def test_only_web_addresses_become_links_to_commits():
    for url in ("#", "javascript:alert(1)//", "file:///etc/"):
        document = document_of(make_history([30]), url)
        assert document["commit_url"] is None
        assert "javascript:" not in render(document)
    document = document_of(make_history([30]), "https://example.org/commit/")
    assert f'href="https://example.org/commit/{0:040x}"' in render(document)


class Text(HTMLParser):
    """Collects the text and the tags of a page, as a browser would read them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_hostile_names_are_text_and_never_markup():
    history = make_history([30, 33], name=f"m.{HOSTILE}", params=(("p", repr(HOSTILE)),))
    page = Text(render(document_of(history)))
    scripts = [attrs for tag, attrs in page.tags if tag == "script"]
    assert [s.get("src", s.get("id")) for s in scripts] == [
        "document",
        "memory_static/plotly.min.js",
        "memory_static/plot.js",
        "memory_static/memory.js",
    ]
    assert HOSTILE in page.text
    assert "pro<ject" in page.text


def test_the_data_inside_the_page_is_the_document():
    document = document_of(make_history([30, 33]))
    found = re.search(
        r'<script type="application/json" id="document">(.*?)</script>', render(document), re.DOTALL
    )
    assert json.loads(found[1]) == document


def test_bytes_come_before_percent_before_the_commit():
    text = Text(render(document_of(make_history([30, 30, 33, 33])))).text
    text = text[text.index("What regressed") :]
    where = [text.index(part) for part in ("+3.00 MiB", "+10.0 %", f"{2:040x}"[:8])]
    assert where == sorted(where)


def test_an_empty_history_says_what_to_do():
    document = document_of(History("p", (), ()))
    assert "steppeak_" in Text(render(document)).text


def test_a_lower_bound_says_so_in_the_table():
    assert "lower bound" in render(document_of(make_history([30], method="sampled")))
    assert "lower bound" not in render(document_of(make_history([30])))


def test_the_page_loads_nothing_but_files_beside_it(tmp_path):
    write_page(tmp_path, document_of(make_history([30, 33])))
    page = Text((tmp_path / "memory.html").read_text())
    loaded = [a["src"] for t, a in page.tags if t == "script" and "src" in a]
    loaded += [a["href"] for t, a in page.tags if t == "link" and a["rel"] == "stylesheet"]
    assert len(loaded) == 4
    assert all((tmp_path / name).stat().st_size > 0 for name in loaded)
    assert json.loads((tmp_path / "memory.json").read_text())["schema_version"] == 1


def test_a_gap_interrupts_the_small_line_and_noise_looks_flat():
    (series,) = document_of(make_history([30, None, 30.05, 30]))["series"]
    lines = sparkline(series)
    assert [len(line.split()) for line in lines] == [1, 2]
    heights = [float(p.split(",")[1]) for line in lines for p in line.split()]
    assert max(heights) - min(heights) < 3
    (failed,) = document_of(make_history([None]))["series"]
    assert sparkline(failed) == []


ASV_PAGE = '<ul>\n\t<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>\n</ul>'


def test_the_link_follows_asvs_regressions_once(tmp_path):
    index = tmp_path / "index.html"
    index.write_text(ASV_PAGE)
    assert add_link(index)
    assert add_link(index)
    assert index.read_text().count("memory.html") == 1
    assert index.read_text().index("memory.html") > index.read_text().index("regressions")


def test_the_asv_that_is_installed_still_has_the_entry_we_follow(tmp_path):
    index = tmp_path / "index.html"
    index.write_text((files("asv") / "www" / "index.html").read_text())
    assert add_link(index)


def test_an_index_of_another_shape_is_left_alone(tmp_path):
    index = tmp_path / "index.html"
    index.write_text("<p>new design</p>")
    assert not add_link(index)
    assert index.read_text() == "<p>new design</p>"
    assert not add_link(tmp_path / "none.html")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0.00"), (1, "0.00"), (-1, "0.00"), (3 * MIB, "+3.00"), (-MIB, "−1.00")],
)
def test_differences_are_signed_and_nothing_is_no_zero(value, shown):
    assert units.delta_mib(value) == shown


def test_figures_are_in_mebibytes():
    assert [units.mib(v) for v in (None, 0, 5 * MIB, 1300 << 20)] == [
        "–",
        "0.00",
        "5.00",
        "1,300.00",
    ]
    assert units.percent(None) == "–"
    assert units.date(0) == "1970-01-01"
