import pytest

from foxbench.errors import ConfigError, UsageError
from foxbench.models import registry
from foxbench.profile import settings
from foxbench.profile.spec import Spec


def test_text_is_typed_by_the_configs_fields():
    found = settings.parse(
        "dqn", ["batch=32", "learning_rate=3e-4", "hidden=64,32", "input_dim=null"]
    )
    assert found == {"batch": 32, "learning_rate": 3e-4, "hidden": [64, 32], "input_dim": None}


def test_a_list_of_words_is_split_at_commas():
    first = registry.config("tft").known[0]
    assert settings.parse("tft", [f"known={first}"]) == {"known": [first]}


def test_every_wrong_setting_is_listed_and_a_close_one_suggested():
    with pytest.raises(ConfigError) as caught:
        settings.parse("dqn", ["bach=32", "seed=x", "zzz=1"])
    assert len(caught.value.mismatches) == 3
    assert "did you mean 'batch'" in str(caught.value)
    assert "seed=x" in str(caught.value)


@pytest.mark.parametrize("text", ["batch", "=3", ""])
def test_a_text_without_key_or_value_is_refused(text):
    with pytest.raises(UsageError, match="key=value"):
        settings.parse("dqn", [text])


def test_a_setting_given_twice_is_refused():
    with pytest.raises(UsageError, match="twice"):
        settings.parse("dqn", ["seed=1", "seed=2"])


def test_every_model_has_a_default_bound():
    assert all(registry.entry(name).profile_steps >= 2 for name in registry.names(None))


def test_a_run_of_one_step_is_refused_because_the_first_only_warms_up():
    with pytest.raises(UsageError, match="one step"):
        Spec("dqn", ("f",), 1, 1, None, {}, 1000.0, True, 1, (), "log")


def test_a_spec_survives_writing_and_reading(tmp_path):
    spec = Spec("dqn", ("f", "g"), 2, 5, 7, {"hidden": [3]}, 500.0, False, 1, ("/x",), "log")
    spec.save(tmp_path / "spec.json")
    assert Spec.load(str(tmp_path / "spec.json")) == spec
