import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.errors import ConfigError, UsageError
from foxbench.fit.sizes import sizes
from foxbench.models import registry
from foxbench.models.dataset import outline
from foxbench.profile import settings


@pytest.fixture(scope="module")
def bars(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=6, seed=1), path)
    return path


def of(model, bars, *given, setting=None):
    return sizes(model, (bars,), None, given, setting)


@pytest.mark.parametrize("model", registry.names())
def test_a_size_starts_where_the_config_stands_and_its_settings_are_valid(model, bars):
    made = of(model, bars)
    for value in (made.smallest, made.start, 2 * made.start, 100 * made.start):
        if value > made.cap:
            continue
        value = made.round_down(value)
        config = settings.config(model, settings.parse(model, made.assignments(value)))
        config.check(outline((bars,), None))
        assert getattr(config, made.setting) == value
    assert made.start == getattr(registry.config(model), made.setting)


@pytest.mark.parametrize("model", registry.names())
def test_the_arithmetic_grows_with_the_size(model, bars):
    made = of(model, bars)
    needs = [sum(made.analytic(made.start * n)) for n in (1, 2, 4)]
    assert needs == sorted(set(needs))


def test_the_cap_is_the_last_size_that_the_bars_allow(bars):
    made = of("mamba2", bars, setting="seq_len")
    config = settings.config("mamba2", settings.parse("mamba2", made.assignments(made.cap)))
    config.check(outline((bars,), None))
    larger = settings.parse("mamba2", made.assignments(made.cap + config.chunk))
    with pytest.raises(ConfigError):
        settings.config("mamba2", larger).check(outline((bars,), None))


def test_settings_given_are_kept_beside_the_size(bars):
    made = of("dqn", bars, "hidden=128,64", "gamma=0.9")
    kept = settings.parse("dqn", made.assignments(200))
    assert (kept["hidden"], kept["gamma"], kept["batch"]) == ([128, 64], 0.9, 200)


def test_a_users_trainer_needs_its_setting_named(bars):
    with pytest.raises(UsageError, match="--setting"):
        of("mine:Trainer", bars)


def test_of_a_users_trainer_the_size_is_any_whole_number(bars):
    made = of("mine:Trainer", bars, "rows=32", "lr=0.1", setting="rows")
    assert (made.start, made.smallest, made.analytic(9)) == (32, 1, None)
    assert set(made.assignments(48)) == {"rows=48", "lr=0.1"}


@pytest.mark.parametrize("text", ["rows=none", "rows=-3", "rows=0", "rows=1.5"])
def test_a_start_that_is_no_size_is_refused(bars, text):
    with pytest.raises(UsageError, match="whole number"):
        of("mine:Trainer", bars, text, setting="rows")


@pytest.mark.parametrize(("model", "setting"), [("dqn", "gamma"), ("tft", "batchs")])
def test_a_setting_that_is_no_size_is_refused(bars, model, setting):
    with pytest.raises(UsageError, match=setting):
        of(model, bars, setting=setting)


def test_a_model_without_an_account_needs_its_setting_named(bars):
    with pytest.raises(UsageError, match="account"):
        of("dqn-infer", bars)


def test_an_inference_is_sized_by_a_setting_that_moves_as_its_models_does(bars):
    made = of("mamba2-infer", bars, setting="seq_len")
    assert (made.smallest, made.round_down(1000), made.start) == (1, 992, 256)
    assert made.analytic(512) is None
    config = settings.config("mamba2-infer", settings.parse("mamba2-infer", made.assignments(992)))
    config.check(outline((bars,), None))
