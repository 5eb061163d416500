import pytest

from foxbench.errors import UsageError
from foxbench.sweep.grid import MAX_POINTS, points


def settings(models, *texts):
    return [(p.model, *p.assignments) for p in points(models, texts)]


def test_a_grid_is_every_combination_in_the_order_given():
    assert settings(["dqn"], "batch=64,32", "gamma=0.9,0.99") == [
        ("dqn", "batch=64", "gamma=0.9"),
        ("dqn", "batch=64", "gamma=0.99"),
        ("dqn", "batch=32", "gamma=0.9"),
        ("dqn", "batch=32", "gamma=0.99"),
    ]


def test_a_setting_that_is_a_list_is_one_value_unless_semicolons_separate():
    assert settings(["dqn"], "hidden=128,64") == [("dqn", "hidden=128,64")]
    assert settings(["dqn"], "hidden=128,64;256") == [
        ("dqn", "hidden=128,64"),
        ("dqn", "hidden=256"),
    ]


def test_of_a_users_trainer_commas_separate_unless_there_is_a_semicolon():
    assert settings(["my.mod:Trainer"], "rows=1,2") == [
        ("my.mod:Trainer", "rows=1"),
        ("my.mod:Trainer", "rows=2"),
    ]
    assert settings(["my.mod:Trainer"], "width=1,2;") == [("my.mod:Trainer", "width=1,2")]


def test_several_models_share_what_is_given_and_one_may_have_its_own():
    assert settings(["dqn", "tft"], "batch=8,16", "tft.batch=4", "tft.heads=2,4") == [
        ("dqn", "batch=8"),
        ("dqn", "batch=16"),
        ("tft", "batch=4", "heads=2"),
        ("tft", "batch=4", "heads=4"),
    ]


def test_a_setting_of_a_user_module_with_dots_can_be_its_own():
    models = ["my.mod:A", "my.mod:B"]
    assert settings(models, "rows=1", "my.mod:B.rows=5") == [
        ("my.mod:A", "rows=1"),
        ("my.mod:B", "rows=5"),
    ]


def test_without_settings_each_model_is_one_point():
    assert settings(["dqn", "ppo"]) == [("dqn",), ("ppo",)]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["batch"], "key=value"),
        (["=3"], "key=value"),
        (["batch="], "no value"),
        (["batch=,"], "no value"),
        (["batch=1,1"], "twice"),
        (["batch=1", "batch=2"], "twice"),
        (["tft.batch=1"], "not swept"),
        (["dqn.batch=1", "dqn.batch=2"], "twice"),
    ],
)
def test_what_is_no_grid_is_refused(texts, named):
    with pytest.raises(UsageError, match=named):
        points(["dqn"], texts)


def test_a_grid_of_thousands_is_refused_before_it_is_made():
    many = ",".join(str(i) for i in range(1, MAX_POINTS + 1))
    with pytest.raises(UsageError, match="points"):
        points(["dqn"], [f"batch={many}", "gamma=0.1,0.2"])
