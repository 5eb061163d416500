"""budgets.toml: what it may hold, and what is refused with file, line and key."""

import datetime
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.budget import budgets, reader, schema
from foxbench.errors import EXIT_USAGE, ConfigError, FoxbenchError, UsageError
from foxbench.sizes import UNITS

HEAD = "schema_version = 1\n"


def loaded(folder, text, head=HEAD):
    path = folder / "budgets.toml"
    path.write_text(head + text, encoding="utf-8")
    return reader.load(path)


def refusal(folder, text, head=HEAD):
    with pytest.raises(FoxbenchError) as caught:
        loaded(folder, text, head)
    assert caught.value.exit_code == EXIT_USAGE
    assert caught.value.remedy
    assert str(folder / "budgets.toml") in caught.value.what
    return caught.value


def test_a_whole_budget_is_read_to_the_byte(tmp_path):
    found = loaded(
        tmp_path,
        """
[device.host]
limit = "4096 MB"
[device.cuda]
limit = "2 GiB"
[[budget]]
model = "dqn"
device = "host"
covers = "growth"
limit = "325 MB"
expected = "311.5 MiB"
noise = "2 MiB"
owner = "ada"
reason = "measured"
expires = 2027-06-30
config = { batch = 128, hidden = [64, 32] }
""",
    )
    assert found.device_limit_bytes == {"host": 4_096_000_000, "cuda": 2 << 30}
    (budget,) = found.budgets
    assert budget == budgets.Budget(
        model="dqn",
        config={"batch": 128, "hidden": [64, 32]},
        device="host",
        covers="growth",
        limit_bytes=325_000_000,
        expected_bytes=326_631_424,
        noise_bytes=2 << 20,
        owner="ada",
        reason="measured",
        expires=datetime.date(2027, 6, 30),
        where="line 7",
    )
    assert budgets.label(budget.model, budget.config) == "dqn batch=128 hidden=64,32"


def test_what_is_left_out_is_none_and_the_whole_process_on_the_host(tmp_path):
    (budget,) = loaded(tmp_path, '[[budget]]\nmodel = "my.trainers:Mine"\nlimit = "1 MB"').budgets
    assert (budget.device, budget.covers, budget.config) == ("host", "whole", {})
    assert budget.expected_bytes is budget.noise_bytes is budget.expires is None


@given(number=st.integers(1, 10**6), unit=st.sampled_from(sorted(UNITS)))
def test_every_size_with_a_unit_is_whole_bytes(tmp_path_factory, number, unit):
    folder = tmp_path_factory.mktemp("sizes")
    (budget,) = loaded(folder, f'[[budget]]\nmodel = "dqn"\nlimit = "{number} {unit}"').budgets
    assert budget.limit_bytes == number * UNITS[unit]


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        (
            '[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nlimt = "1 MB"',
            5,
            "'limt', did you mean 'limit'",
        ),
        ('[device.host]\nlimit = "1 MB"\nowner = "x"', 4, "'owner'"),
        ('[device.hots]\nlimit = "1 MB"', 2, "'hots', did you mean 'host'"),
        ('[budgets]\nmodel = "dqn"', 2, "'budgets', did you mean 'budget'"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "-1 MB"', 4, "negative"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "325"', 4, "no unit"),
        ('[[budget]]\nmodel = "dqn"\nlimit = 325', 4, "Expected `str`, got `int`"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nnoise = "0 MB"', 5, "nothing"),
        ('[[budget]]\nmodel = "dqn"', 2, "required field `limit`"),
        ('[[budget]]\nmodel = "dqm"\nlimit = "1 MB"', 3, "unknown model 'dqm'"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\ncovers = "hole"', 5, "'hole'"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nexpires = "soon"', 5, "expires"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nexpires = 2027-01-01T00:00:00', 5, "expires"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nconfig = { batc = 2 }', 5, "'batch'"),
        ('[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nconfig = { batch = "x" }', 5, "batch=x"),
        (
            '[[budget]]\nmodel = "dqn"\ndevice = "cuda"\ncovers = "step"\nlimit = "1 MB"',
            5,
            "host only",
        ),
        ("budget = 3", 2, "not a list of tables"),
        ("[budget]\nx = 1", 2, "not a list of tables"),
        ("device = 3", 2, "not a table"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(tmp_path, text, line, named):
    (mismatch,) = refusal(tmp_path, text).mismatches
    assert mismatch.startswith(f"line {line}: ")
    assert named in mismatch


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    text = '[device.host]\nlimit = 1\n[[budget]]\nmodel = "dqn"\nlimit = "1"\nonwer = "x"'
    assert len(refusal(tmp_path, text).mismatches) == 3


def test_a_table_written_inline_is_named_where_no_line_is_found(tmp_path):
    text = 'budget = [{ model = "dqn", limit = "1 MB" }, { model = "ppo", limt = "1 MB" }]'
    mismatches = refusal(tmp_path, text).mismatches
    assert any("'limt'" in m for m in mismatches)


@pytest.mark.parametrize("second", ["", "config = { batch = 64 }", 'covers = "step"'])
def test_two_budgets_of_one_configuration_are_refused(tmp_path, second):
    """Batch 64 is what dqn has by default: the same training under two names."""
    one = '[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\n'
    (mismatch,) = refusal(tmp_path, one + one + second).mismatches
    assert mismatch.startswith("line 5: a second budget for dqn")
    assert mismatch.endswith("line 2")


def test_two_configurations_or_devices_of_a_model_may_each_have_a_budget(tmp_path):
    one = '[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\n'
    found = loaded(tmp_path, one + one + "config = { batch = 65 }\n" + one + 'device = "cuda"\n')
    assert [b.config for b in found.of("dqn", "host")] == [{}, {"batch": 65}]
    assert len(found.of("dqn", "cuda")) == 1


@pytest.mark.parametrize("head", ["", "schema_version = 2\n", 'schema_version = "1"\n'])
def test_another_schema_version_is_refused(tmp_path, head):
    assert "schema_version" in refusal(tmp_path, "", head).what


@pytest.mark.parametrize("content", [b"limit = ", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_refused(tmp_path, content):
    path = tmp_path / "budgets.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"not TOML|not UTF-8"):
        reader.load(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read budgets .*/none\.toml"):
        reader.load(tmp_path / "none.toml")


def test_an_expired_budget_of_a_model_asked_for_is_refused_until_renewed(tmp_path):
    found = loaded(
        tmp_path,
        '[[budget]]\nmodel = "dqn"\nlimit = "1 MB"\nowner = "ada"\nexpires = 2027-06-30\n',
    )
    last_day = datetime.date(2027, 6, 30)
    budgets.refuse_expired(found, ["dqn"], "host", last_day)
    day_after = last_day + datetime.timedelta(days=1)
    budgets.refuse_expired(found, ["ppo"], "host", day_after)
    budgets.refuse_expired(found, ["dqn"], "cuda", day_after)
    with pytest.raises(ConfigError, match=r"line 2: .*dqn expired on 2027-06-30.*ada") as caught:
        budgets.refuse_expired(found, ["dqn"], "host", day_after)
    assert "renew" in caught.value.remedy


def test_the_file_asked_for_wins_over_the_folders_and_that_over_the_shipped_one(tmp_path):
    assert reader.find(None, tmp_path) is None
    (tmp_path / "budgets.toml").write_text(HEAD)
    assert reader.find(None, tmp_path) == tmp_path / "budgets.toml"
    assert reader.find(Path("mine.toml"), tmp_path) == Path("mine.toml")


def test_the_shipped_budgets_cover_the_models_and_the_device():
    shipped = reader.load(None)
    megabytes = {b.model: b.limit_bytes // 10**6 for b in shipped.budgets}
    wanted = {"dqn": 325, "ppo": 300, "mamba2": 400, "tft": 400}
    assert {name: megabytes[name] for name in wanted} == wanted
    assert shipped.device_limit_bytes == {"host": 4_096_000_000}
    assert all(b.reason for b in shipped.budgets)


def test_the_exported_schema_names_every_key_and_allows_no_other():
    exported = schema.json_schema()
    json.dumps(exported)
    tables = {
        "BudgetsFile": schema.BudgetsFile,
        "BudgetTable": schema.BudgetTable,
        "DeviceTable": schema.DeviceTable,
    }
    for name, table in tables.items():
        assert set(exported["$defs"][name]["properties"]) == set(table.__struct_fields__)
        assert exported["$defs"][name]["additionalProperties"] is False
    covers = exported["$defs"]["BudgetTable"]["properties"]["covers"]["enum"]
    assert set(covers) == set(schema.COVERS)
    for device in schema.DEVICES:
        table = {"model": "dqn", "limit": "1 MB", "device": device}
        assert msgspec.convert(table, schema.BudgetTable).device == device
