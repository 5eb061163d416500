"""Every format says the same, whatever a name holds."""

import dataclasses
import io
import json
import re
from html.parser import HTMLParser

import pytest
from budget_rows import HOSTILE, MIB, budget, failed, profile, row, validation
from rich.console import Console

from foxbench.budget import result
from foxbench.budget.reports import html, markdown, terminal, words
from foxbench.budget.result import Analytic
from foxbench.errors import DataError
from foxbench.profile import result as profile_result
from foxbench.profile.result import Failure


class Page(HTMLParser):
    """Elements and text of a page."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data + " "


def several():
    """One of each: changed, over, within its error bound, failed, no budget."""
    return validation(
        [
            row("dqn", held=budget(expected_bytes=250 * MIB, noise_bytes=MIB)),
            row("ppo", held=budget(290 * MIB, expected_bytes=300 * MIB)),
            row("mamba2", held=budget(300 * MIB + 1)),
            row("tft", failed("oom"), held=budget()),
            row("my.trainers:Mine"),
        ]
    )


def shown(of, width=118):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    terminal.show(of, out)
    return out.file.getvalue()


FORMATS = {
    "terminal": shown,
    "markdown": lambda of: re.sub(r"\\(.)", r"\1", markdown.make(of).decode()),
    "html": lambda of: Page(html.make(of).decode()).text,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_every_figure_and_says_what_is_missing(name):
    text = " ".join(FORMATS[name](several()).split())
    for part in (
        "300.00",
        "+50.00",
        "within noise",
        "-10.00",
        "over budget",
        "oom",
        ">= 200.00",
        "no budget",
        "ValueError in step, step 2: the loss went away",
        "within the error bound of its budget",
        "3,906.25",
        "an upper bound",
        "left out, without a figure: tft",
        "/etc/budgets.toml",
        "es.parquet",
        "1,500",
        "0.25",
    ):
        assert part in text, part


@pytest.mark.parametrize("width", [40, 80, 118, 200])
def test_no_digit_is_cut_off_however_narrow_the_terminal_is(width):
    text = shown(several(), width)
    assert "…" not in text
    for row_of in several().models:
        for cell in words.cells(row_of)[1:]:
            assert cell in text


def test_a_failed_run_shows_no_figure_of_its_own_and_growth_shows_no_whole():
    whole, growth = (
        row("tft", failed(), held=budget()),
        row("tft", failed(), held=budget(covers="growth")),
    )
    assert words.actual(whole) == ">= 200.00"
    assert words.actual(growth) == "-"
    assert ("seen", "200.00 MiB of the whole process, a lower bound") in words.notes(growth)


def test_a_sampled_figure_is_shown_as_a_lower_bound():
    assert words.actual(row(measured=profile(err_bytes=None))) == ">= 300.00"


def test_the_arithmetic_stands_beside_the_measured_step():
    account = Analytic(MIB, 9 * MIB, "Adam", MIB)
    (note,) = (text for label, text in words.notes(row(analytic=account)) if label == "step")
    assert note == "2.00 MiB measured, 1.00 MiB by its arithmetic (at Adam), +1.00 unexplained"


def hostile():
    broken = failed(error=Failure(HOSTILE, HOSTILE, HOSTILE, 2, None), warnings=(HOSTILE,))
    held = budget(owner=HOSTILE, reason=HOSTILE)
    rows = [dataclasses.replace(row(HOSTILE, broken, held=held), model=HOSTILE), row(HOSTILE)]
    return validation(rows, budgets=HOSTILE, files=(HOSTILE,))


def test_a_strangers_names_are_text_on_the_page():
    page = Page(html.make(hostile()).decode())
    assert "img" not in [tag for tag, _ in page.tags]
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert words.plain(HOSTILE) in page.text
    assert "{{ 7 * 7 }}" in page.text


def test_a_strangers_names_do_not_reach_the_terminal_as_commands():
    text = shown(hostile())
    assert "\x1b" not in text
    assert "[red]" in text


def test_a_strangers_names_are_text_in_markdown():
    text = markdown.make(hostile()).decode()
    columns = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line[:1] == "|"}
    assert columns == {len(words.COLUMNS) + 1}
    assert not re.search(r"(?<!\\)[<`]", text)
    assert "\x1b" not in text


def test_the_page_needs_nothing_from_elsewhere():
    page = Page(html.make(several()).decode())
    assert "script" not in [tag for tag, _ in page.tags]
    for tag, attributes in page.tags:
        for name in ("src", "href", "data", "action"):
            assert attributes.get(name, "data:").startswith(("data:", "#")), (tag, attributes)


def test_the_budgets_line_lies_where_the_figure_it_limits_would_end():
    """A whole's at the limit, a growth's above the resident set at build, a step's nowhere."""
    measured = profile()
    for covers, line in (("whole", 325_000_000), ("growth", 325_000_000 + 100 * MIB)):
        assert html.line_bytes(row(held=budget(covers=covers)), measured) == line
    assert html.line_bytes(row(held=budget(covers="step")), measured) is None
    assert html.line_bytes(row(), measured) is None
    on_device = row(held=budget(), device="cuda")
    assert html.line_bytes(on_device, measured) is None


def test_a_run_without_a_timeline_says_why(tmp_path):
    assert "not trained" in html.plot(row(run=None)).missing
    profile_result.write(failed(), tmp_path / "profile.json")
    killed = html.plot(row(run=str(tmp_path)))
    assert (killed.svg, "killed" in killed.missing) == (None, True)


def test_a_validation_survives_json(tmp_path):
    account = Analytic(MIB, MIB, "Adam", -3)
    of = validation([row(analytic=account), row("ppo", failed(), held=budget())])
    path = tmp_path / "v.json"
    path.write_bytes(result.encode(of))
    assert result.read(path) == of


def test_json_has_the_promised_keys_and_null_for_what_was_not_measured():
    raw = json.loads(result.encode(several()))
    assert {"schema_version", "verdict", "device", "models"} <= set(raw)
    assert raw["verdict"] == "over_budget"
    keys = "name status error peak_bytes peak_err_bytes step_peak_bytes budget_bytes"
    keys += " headroom_bytes seconds final_loss bars covers expected_bytes delta_bytes device"
    for model in raw["models"]:
        assert set(keys.split()) <= set(model)
    tft = next(m for m in raw["models"] if m["name"] == "tft")
    assert tft["peak_bytes"] is tft["headroom_bytes"] is tft["final_loss"] is None
    assert tft["seen_peak_bytes"] == 200 * MIB
    assert raw["models"][0]["peak_bytes"] == 300 * MIB


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda raw: raw.update(peak=1), "peak"),
        (lambda raw: raw["models"][0].update(peak_mb=1), r"models\[0\]\.peak_mb"),
        (lambda raw: raw["coresidence"].update(x=1), r"coresidence\.x"),
        (lambda raw: raw.update(schema_version=2), "2"),
        (lambda raw: raw.update(verdict="fine"), "fine"),
        (lambda raw: raw["models"][0].update(status="fine"), "fine"),
        (lambda raw: raw["models"][0].update(peak_bytes=1.5), "peak_bytes"),
        (lambda raw: raw.pop("models"), "models"),
        (lambda raw: raw["models"][0].pop("status"), "status"),
    ],
)
def test_a_key_or_value_that_no_validation_has_is_refused_by_name(tmp_path, change, named):
    raw = json.loads(result.encode(several()))
    change(raw)
    path = tmp_path / "v.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(DataError, match=named):
        result.read(path)
