"""Which models are trained, on what: one case for each budget, one set of files for each model."""

import datetime
from pathlib import Path

import pytest
from budget_rows import MIB, budget

from foxbench.bars import parquet
from foxbench.budget import market_files
from foxbench.budget.budgets import Budgets
from foxbench.budget.validation import Wishes, cases
from foxbench.errors import ConfigError, DataError, UsageError
from foxbench.models import registry

TODAY = datetime.date(2027, 1, 1)


def wishes(*models, device="host"):
    return Wishes(models, (), "quick", None, None, device, True, None, None, Path("runs"))


def held(*budgets, limits=None):
    return Budgets("budgets.toml", limits or {"host": 100 * MIB}, budgets)


def test_every_model_with_a_budget_is_trained_when_none_is_named():
    found = cases(wishes(), held(budget(model="ppo"), budget(), budget(device="cuda")), TODAY)
    assert [c.name for c in found] == ["ppo", "dqn"]
    assert all(c.device_limit_bytes == 100 * MIB for c in found)


def test_each_configuration_with_a_budget_is_a_case_of_its_own():
    small, large = budget(config={"batch": 8}), budget(config={"batch": 4096})
    found = cases(wishes("dqn", "ppo", "dqn"), held(small, large), TODAY)
    assert [c.name for c in found] == ["dqn batch=8", "dqn batch=4096", "ppo"]
    assert [c.budget for c in found] == [small, large, None]


def test_without_any_budget_the_trainings_are_what_is_validated():
    assert [c.model for c in cases(wishes(), held(), TODAY)] == list(registry.names())


def test_the_budgets_of_another_device_do_not_count():
    found = cases(wishes("dqn", device="cuda"), held(budget()), TODAY)
    assert [(c.device, c.budget, c.device_limit_bytes) for c in found] == [("cuda", None, None)]


def test_an_expired_budget_stops_only_those_who_ask_for_its_model():
    old = budget(expires=TODAY - datetime.timedelta(days=1))
    assert len(cases(wishes("ppo"), held(old), TODAY)) == 1
    with pytest.raises(ConfigError, match="expired"):
        cases(wishes("ppo", "dqn"), held(old), TODAY)
    with pytest.raises(ConfigError, match="expired"):
        cases(wishes(), held(old), TODAY)


def test_a_model_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="dqm"):
        cases(wishes("dqm"), held(), TODAY)


def test_bars_are_made_for_every_instrument_and_are_enough(tmp_path):
    made = market_files.synthetic(["dqn", "my:Trainer"], 7_000, tmp_path / "bars")
    assert made.synthetic
    assert made.of("dqn") == made.of("my:Trainer") == made.all
    assert [parquet.outline(path)[1] >= 7_000 for path in made.all] == [True]
    several = market_files.synthetic(["dqn", "tft"], 600, tmp_path / "more")
    assert len(several.of("tft")) == len(registry.entry("tft").roots) == len(several.all)
    assert several.of("dqn") == several.of("tft")[:1]


def test_of_the_users_files_a_model_of_one_instrument_gets_the_first(tmp_path):
    made = market_files.synthetic(["tft"], 600, tmp_path)
    given = market_files.given(made.all)
    assert not given.synthetic
    assert given.of("tft") == given.of("my:Trainer") == given.all
    assert given.of("dqn") == given.all[:1]


def test_a_file_that_cannot_be_used_is_refused_before_any_training(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match=r"x\.parquet"):
        market_files.given([tmp_path / "x.parquet"])
