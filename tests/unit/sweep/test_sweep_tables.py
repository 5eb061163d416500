import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from sweeps import GRID, MIB, row, sweep

from foxbench import jsonfile
from foxbench.errors import DataError
from foxbench.sweep import plot, report, result, tables

HOSTILE = "</svg><script>window.pwned=1</script>[red]$x^2$\x1b[31m"


def test_csv_and_parquet_hold_the_same_rows_and_nothing_for_what_is_missing():
    read = list(csv.DictReader(io.StringIO(tables.as_csv(GRID).decode())))
    parquet = pq.read_table(io.BytesIO(tables.as_parquet(GRID)))
    assert parquet.column_names == list(read[0])
    assert parquet.num_rows == len(read) == len(GRID.rows)
    for text, one in zip(read, parquet.to_pylist(), strict=True):
        assert {k: "" if v is None else str(v) for k, v in one.items()} == text
    assert read[0]["set_hidden"] == "1,2"
    assert read[-1]["step_peak_bytes"] == ""
    assert parquet.to_pylist()[-1]["step_peak_bytes"] is None
    assert parquet.to_pylist()[0]["step_peak_bytes"] == 16 * MIB
    assert parquet.schema.metadata[b"foxbench.schema_version"] == b"1"


def test_a_setting_that_a_model_has_not_is_empty():
    made = sweep(row("dqn", batch="1"), row("tft", batch="2", heads="4"))
    assert tables.columns(made)["set_heads"] == [None, "4"]


def test_a_sweep_survives_json_and_refuses_what_it_does_not_know(tmp_path):
    result.write(GRID, tmp_path / "sweep.json")
    assert result.read(tmp_path / "sweep.json") == GRID
    raw = json.loads(jsonfile.encode(GRID))
    raw["rows"][2]["colour"] = 1
    (tmp_path / "x.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match=r"rows\[2\].colour"):
        result.read(tmp_path / "x.json")
    raw["rows"][2].pop("colour")
    raw["rows"][2]["status"] = "fine"
    (tmp_path / "x.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match="'fine'"):
        result.read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (sweep(row(batch="1")), 0),
        (GRID, 3),
        (sweep(row(batch="1"), n_points=2), 3),
        (sweep(row(batch="1"), n_points=2, interrupted=130), 130),
    ],
)
def test_only_a_whole_sweep_of_ok_points_exits_with_0(made, code):
    assert result.exit_code(made) == code


def test_lines_run_along_the_first_number_one_for_each_combination_of_the_rest():
    assert plot.along(GRID) == "batch"
    found = plot.lines(GRID, "batch")
    assert [(line.label, line.x) for line in found] == [
        ("hidden=1,2", (4.0, 8.0, 16.0)),
        ("hidden=3", (4.0, 8.0, 16.0, 64.0)),
    ]


def test_models_have_lines_of_their_own_and_a_setting_of_one_value_is_no_label():
    made = sweep(*(row(m, batch=b, lr="0.1") for m in ("mamba2", "tft") for b in ("1", "2")))
    assert [line.label for line in plot.lines(made, "batch")] == ["mamba2", "tft"]


def texts(made):
    root = ElementTree.fromstring(plot.svg(made))
    return [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_plot_names_its_axes_its_lines_and_what_failed():
    found = texts(GRID)
    for text in ("batch", "step peak, MiB", "CPU of a step, ms", "hidden=3", "failed"):
        assert text in found
    assert found.count("by arithmetic") == 1


@pytest.mark.parametrize(
    "made",
    [
        sweep(row(batch="1")),
        sweep(row(status="failed", batch="1"), row(status="oom", batch="2")),
        sweep(row(hidden="1,2"), row(hidden="3,4"), row(status="failed", hidden="5,6")),
        sweep(row("dqn"), row("tft")),
    ],
)
def test_any_sweep_has_a_plot(made):
    assert "step peak, MiB" in texts(made)


def test_a_hostile_name_is_text_in_every_format(tmp_path):
    made = sweep(row(HOSTILE, **{HOSTILE: HOSTILE}), row("b", **{HOSTILE: "x"}))
    found = report.page(made).decode()
    assert "<script" not in found
    assert "\x1b" not in found
    shown = Console(file=io.StringIO(), width=300)
    report.show(made, shown)
    assert "\x1b" not in shown.file.getvalue()
    assert "[red]" in shown.file.getvalue()


def test_the_page_shows_every_point_and_why_one_failed():
    found = report.page(GRID).decode()
    assert found.count('<th scope="row">') == len(GRID.rows)
    assert "RuntimeError: no" in found
    assert "not measured" in found
