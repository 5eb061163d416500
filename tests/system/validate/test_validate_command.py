"""What the command takes, what it refuses before it trains, and what it says of the budgets."""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from validate_runs import budget_of, budgets, rows, start, validate

from foxbench.budget import result


def nothing_was_trained(folder):
    return not list((folder / "foxbench-runs").glob("*/*/log.jsonl"))


def test_everything_fits_and_the_json_goes_to_stdout(folder):
    limit = "2 GB"
    path = budgets(folder, budget_of("Plain", limit), budget_of("Mute", limit), name="mine.toml")
    budgets(folder, budget_of("Raises", limit))
    code, out, err = validate(folder, "--budgets=mine.toml", "--json=-", "--markdown=v.md")
    assert code == 0, err
    raw = json.loads(out)
    assert (raw["verdict"], raw["budgets"]) == ("ok", "mine.toml")
    assert [m["status"] for m in raw["models"]] == ["ok", "ok"]
    assert raw["models"][1]["final_loss"] is None
    assert "every model fits its budget" in err
    assert path.exists()


def test_a_real_model_with_settings_of_its_budget_on_bars_made_for_it(folder):
    """No FILE; a configuration of its own; growth since build; what it is expected to need."""
    budgets(
        folder,
        'model = "dqn"\ncovers = "growth"\nlimit = "300 MB"\nexpected = "1 MB"\n'
        "config = { hidden = [32, 16], capacity = 300, warmup = 300, batch = 64 }",
    )
    process = start(folder, "--preset=quick", "--epochs=1", "--max-bars=1000", "--json=v.json")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    found = result.read(folder / "v.json")
    (row,) = found.models
    assert found.synthetic
    assert "made for this run" in out
    assert row.name == "dqn hidden=32,16 capacity=300 warmup=300 batch=64"
    assert row.measured_bytes == row.growth_bytes
    assert (row.delta_bytes, row.changed) == (row.growth_bytes - 10**6, True)
    assert row.peak_bytes > row.growth_bytes > row.step_peak_bytes > 0
    assert row.bars == 1000 - 512


def refused(folder, *arguments):
    code, out, err = validate(folder, *arguments)
    assert code == 4, (out, err)
    assert nothing_was_trained(folder)
    return err


def test_a_budget_that_expired_is_refused_and_how_to_renew_it_is_said(folder):
    yesterday = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=2)
    budgets(folder, budget_of("Plain", "2 GB", f"expires = {yesterday}", 'owner = "ada"'))
    err = refused(folder)
    assert f"expired on {yesterday}" in err
    assert "ada" in err
    assert "renew" in err


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ('model = "dqn"\nlimt = "1 MB"\nlimit = "1 MB"', "'limt', did you mean 'limit'"),
        ('model = "dqm"\nlimit = "1 MB"', "unknown model 'dqm'"),
        ('model = "dqn"\nlimit = "1"', "has no unit"),
    ],
)
def test_budgets_that_are_wrong_are_refused_with_file_and_line(folder, table, named):
    path = budgets(folder, table)
    err = refused(folder)
    assert named in err
    assert f"{path}:" in err
    assert "line 3" in err or "line 4" in err


def test_a_parquet_of_another_schema_is_refused_before_anything_is_trained(folder):
    pq.write_table(pa.table({"x": [1]}), folder / "es.parquet")
    assert "es.parquet" in refused(folder, "--models=my_trainers:Plain")


def test_a_column_that_is_missing_is_refused_before_anything_is_trained(folder):
    table = pq.read_table(folder / "es.parquet")
    pq.write_table(table.drop_columns(["close"]), folder / "es.parquet")
    assert "column close is missing" in refused(folder, "--models=my_trainers:Plain")


def test_settings_that_do_not_fit_the_bars_are_refused_before_anything_is_trained(folder):
    limit = 'limit = "1 GB"'
    budgets(folder, f'model = "dqn"\n{limit}\nconfig = {{ batch = 999999 }}')
    assert "batch" in refused(folder)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--models=dqm"], "unknown model 'dqm'"),
        (["--models=,"], "names no model"),
        (["--html=none/v.html"], "cannot write none/v.html"),
        (["--html=v", "--json=v"], "both name"),
        (["--with=nq.parquet"], "cannot read"),
        (["--budgets=none.toml"], "cannot read budgets"),
        (["--preset=slow"], "slow"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(folder, arguments, named):
    assert named in refused(folder, *arguments)


def test_a_model_without_a_budget_is_shown_and_does_not_fail(folder):
    budgets(folder, budget_of("Plain", "2 GB"))
    models = "--models=my_trainers:Whole,my_trainers:Plain,my_trainers:Whole"
    code, out, _ = validate(folder, models, "--json=v.json")
    assert code == 0
    assert "no budget" in out
    found = rows(folder / "v.json")
    assert [row.budget_bytes for row in found.values()] == [None, 2 * 10**9]


def test_the_schema_of_the_file_is_printed(folder):
    out, _ = start(folder, "--schema").communicate(timeout=60)
    assert json.loads(out)["$defs"]["BudgetTable"]["properties"]["limit"]["type"] == "string"
