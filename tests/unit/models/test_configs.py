"""Every mismatch of a config is listed at once, with its arithmetic."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.errors import ConfigError
from foxbench.features import NAMES
from foxbench.models import registry
from foxbench.models.configs import DqnConfig, Mamba2Config, PpoConfig, TftConfig
from foxbench.models.data import MarketData, train_bars

ALL = (DqnConfig, PpoConfig, Mamba2Config, TftConfig)


@pytest.fixture(scope="module")
def market(make_market):
    return make_market(n_bars=3_000)


def mismatches(config, data) -> tuple[str, ...]:
    """What the check lists; () when it passes."""
    try:
        config.check(data)
    except ConfigError as error:
        return error.mismatches
    return ()


@pytest.mark.parametrize("config", ALL)
def test_the_defaults_fit_225_features(config, market):
    assert mismatches(config(), market) == ()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            TftConfig(input_dim=6),
            "static(5) + known(3) + observed(6) = 14 != input_dim(6): "
            "set input_dim=14 or change the column lists",
        ),
        (TftConfig(d_model=62), "d_model 62 is not a multiple of heads 4"),
        (TftConfig(micro=24), "batch 64 is not a multiple of micro 24"),
        (TftConfig(known=("x0", "moon")), "ES has no known column 'moon'"),
        (TftConfig(known=("x0", "clv")), "columns named twice: 'clv'"),
        (TftConfig(observed=()), "observed names no column"),
        (TftConfig(dropout=1.0), "dropout 1.0 is not in [0, 1)"),
        (
            TftConfig(quantiles=(0.5, 0.1)),
            "quantiles (0.5, 0.1) do not rise strictly within 0 and 1",
        ),
        (
            TftConfig(encoder=3_000),
            "encoder 3000 + decoder 10 + 1 = 3011 bars > 2400 training bars of ES "
            "(3000 bars - 600 held out for evaluation)",
        ),
        (Mamba2Config(seq_len=250), "seq_len 250 is not a multiple of chunk 32"),
        (Mamba2Config(headdim=48), "expand*d_model 256 is not a multiple of headdim 48"),
        (Mamba2Config(input_dim=6), "input_dim 6 != features 225"),
        (Mamba2Config(micro=3), "batch 16 is not a multiple of micro 3"),
        (
            Mamba2Config(seq_len=2_400),
            "seq_len 2400 + 1 = 2401 bars > 2400 training bars of ES "
            "(3000 bars - 600 held out for evaluation)",
        ),
        (DqnConfig(input_dim=225), "input_dim 225 != features 225 + position 1 = 226"),
        (DqnConfig(batch=64, warmup=32), "batch 64 > warmup 32: the first step has too few"),
        (
            DqnConfig(warmup=9, batch=4, capacity=8),
            "warmup 9 > capacity 8: the replay is too small",
        ),
        (DqnConfig(gamma=1.5), "gamma 1.5 is not within 0 and 1"),
        (DqnConfig(hidden=()), "hidden () names no layer"),
        (DqnConfig(hidden=(8, 0)), "hidden[1] 0 is not a whole number of at least 1"),
        (DqnConfig(cost=float("nan")), "cost nan is negative or not a number"),
        (DqnConfig(learning_rate=0.0), "learning_rate 0.0 is not positive"),
        (PpoConfig(minibatch=63), "n_steps 2048 is not a multiple of minibatch 63"),
        (PpoConfig(input_dim=225), "input_dim 225 != features 225 + position 1 = 226"),
        (
            PpoConfig(n_steps=2_432),
            "n_steps 2432 + 2 = 2434 bars > 2400 training bars of ES "
            "(3000 bars - 600 held out for evaluation)",
        ),
    ],
)
def test_a_mismatch_is_told_with_its_arithmetic(config, expected, market):
    assert mismatches(config, market) == (expected,)


@pytest.mark.parametrize("config", ALL)
def test_every_size_that_must_be_positive_is_refused_at_zero(config, market):
    sizes = {f.name for f in dataclasses.fields(config) if isinstance(f.default, int)} - {"seed"}
    assert sizes
    for name in sizes:
        listed = mismatches(config(**{name: 0}), market)
        assert any(line.startswith(f"{name} 0 ") for line in listed), (name, listed)


def test_the_columns_the_tft_asks_for_are_among_the_computed_features():
    assert set(TftConfig().known + TftConfig().observed) <= set(NAMES)


def test_all_mismatches_are_listed_in_one_error(market):
    config = Mamba2Config(seq_len=250, headdim=48, input_dim=6, batch=0, grad_clip=-1.0)
    with pytest.raises(ConfigError) as error:
        config.check(market)
    assert len(error.value.mismatches) == 5
    assert all(line in str(error.value) for line in error.value.mismatches)
    assert error.value.remedy


def test_the_boundaries_themselves_fit(make_market):
    data = make_market(n_bars=100, n_features=12)  # 80 to train on
    assert mismatches(PpoConfig(n_steps=78, minibatch=39), data) == ()
    assert mismatches(PpoConfig(n_steps=79, minibatch=79), data) != ()
    assert mismatches(DqnConfig(batch=8, warmup=8, capacity=8), data) == ()
    assert mismatches(Mamba2Config(seq_len=79, chunk=79), data) == ()
    assert mismatches(TftConfig(encoder=69, decoder=10), data) == ()
    assert mismatches(TftConfig(encoder=70, decoder=10), data) != ()


def test_micro_batches_default_to_what_the_device_likes():
    assert (Mamba2Config().micro_for("cpu"), Mamba2Config().micro_for("cuda")) == (1, 16)
    assert (TftConfig().micro_for("cpu"), TftConfig().micro_for("cuda:0")) == (16, 64)
    assert TftConfig(micro=8).micro_for("cuda") == 8


@given(batch=st.integers(1, 500))
def test_the_default_micro_batch_divides_every_batch(batch):
    for config in (Mamba2Config(batch=batch), TftConfig(batch=batch)):
        assert batch % config.micro_for("cpu") == 0


def test_series_that_do_not_fit_themselves_are_refused(make_market):
    good = make_market(n_bars=500, n_features=12).first
    bad = dataclasses.replace(
        good, returns=good.returns[:-1], feature_names=good.feature_names[:-1]
    )
    listed = mismatches(DqnConfig(), MarketData((bad,)))
    assert listed == (
        "ES: returns (499,) != (500,) bars",
        "ES: 11 feature names != 12 columns",
    )
    flat = dataclasses.replace(good, features=np.zeros(500, np.float32))
    assert any("not (bars, features)" in x for x in mismatches(PpoConfig(), MarketData((flat,))))


@pytest.mark.parametrize("name", registry.names())
def test_data_without_series_are_a_mismatch_and_no_crash(name):
    assert "the data hold no series" in mismatches(registry.config(name), MarketData(()))


@given(n=st.integers(0, 10**6))
def test_the_last_fifth_is_held_out(n):
    assert train_bars(n) + n // 5 == n
