"""The memory account's contract: sums, growth, errors, no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foxbench.errors import ConfigError, UsageError
from foxbench.features import NAMES
from foxbench.models import registry
from foxbench.models.account import account, names, resized, size_setting
from foxbench.models.data import STATIC_NAMES, MarketData, Series


def outline(n_bars: int = 200_000) -> MarketData:
    """Shapes without memory, as :func:`foxbench.models.dataset.outline` makes them."""
    zero = np.zeros((), dtype=np.float32)
    return MarketData(
        (
            Series(
                root="6E",
                features=np.broadcast_to(zero, (n_bars, len(NAMES))),
                feature_names=NAMES,
                returns=np.broadcast_to(zero, (n_bars,)),
                statics=np.broadcast_to(zero, (len(STATIC_NAMES),)),
            ),
        )
    )


MODELS = registry.names()


def test_every_registered_model_has_an_account() -> None:
    assert names() == MODELS


@pytest.mark.parametrize("model", MODELS)
def test_the_parts_of_the_peak_sum_to_it(model: str) -> None:
    it = account(model, registry.config(model), outline())
    assert sum(part.bytes for part in it.peak_parts) == it.step_peak_bytes
    assert all(part.bytes > 0 and part.name for part in it.peak_parts)
    assert len({part.name for part in it.peak_parts}) == len(it.peak_parts)
    assert it.peak_at
    assert it.resident_bytes == it.params_bytes + it.optimizer_bytes + it.buffers_bytes
    assert it.first_step_extra_bytes == 2 * it.params_bytes


def test_activations_are_named_after_the_layers_in_their_order() -> None:
    it = account("mamba2", registry.config("mamba2"), outline())
    kept = [part.name for part in it.activations if part.name.startswith("blocks.")]
    assert kept == [f"blocks.{i}" for i in range(4)]
    assert len({part.bytes for part in it.activations if part.name in kept}) == 1
    tft = account("tft", registry.config("tft"), outline())
    assert "selection of past" in [part.name for part in tft.activations]
    dqn = account("dqn", registry.config("dqn"), outline())
    # 65 rows after the first of three hidden layers, and after the other two.
    layers = [part.bytes for part in dqn.activations if part.name.startswith("online.layers.")]
    assert layers == [4 * 65 * units for units in (512, 512, 256)]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODELS), st.integers(2, 65_536), st.integers(1, 4_096))
def test_a_larger_size_never_needs_less_and_the_config_stays_valid(
    model: str, value: int, more: int
) -> None:
    data, config = outline(), registry.config(model)
    small = account(model, resized(model, config, value), data)
    large = account(model, resized(model, config, value + more), data)
    # PPO's rollout follows its minibatch, so that its own part may shrink a little; and a block
    # that passes 64 KiB leaves the heap, with the holes that it made there.
    assert large.step_peak_bytes >= 0.98 * small.step_peak_bytes
    assert large.activations_bytes > small.activations_bytes


@pytest.mark.parametrize("model", MODELS)
def test_the_size_setting_gets_the_value_asked_for(model: str) -> None:
    config = resized(model, registry.config(model), 1_000)
    assert getattr(config, size_setting(model)) == 1_000


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        [
            ("dqn", "warmup"),
            ("dqn", "capacity"),
            ("ppo", "n_steps"),
            ("mamba2", "seq_len"),
            ("mamba2", "chunk"),
            ("mamba2", "d_model"),
            ("mamba2", "micro"),
            ("mamba2", "layers"),
            ("tft", "d_model"),
            ("tft", "micro"),
            ("tft", "encoder"),
        ]
    ),
    st.integers(1, 3_000),
)
def test_any_setting_may_be_resized_to_the_next_valid_value(
    which: tuple[str, str], value: int
) -> None:
    model, setting = which
    config: Any = resized(model, registry.config(model), value, setting)
    config.check(outline())
    # Below the smallest valid value there is only that one.
    smallest = {"n_steps": 64, "seq_len": 1, "d_model": 32, "warmup": 64, "capacity": 100_000}
    assert getattr(config, setting) <= max(value, smallest.get(setting, 1))


def test_a_micro_that_was_chosen_is_kept_and_the_batch_costs_next_to_nothing() -> None:
    config = registry.config("tft", micro=16)
    small, large = (resized("tft", config, batch) for batch in (64, 1_000))
    assert (large.batch, large.micro) == (992, 16)  # type: ignore[attr-defined]
    peaks = [account("tft", c, outline()).step_peak_bytes for c in (small, large)]
    assert peaks[0] == peaks[1]


def test_a_batch_in_one_pass_needs_more_than_in_micro_batches() -> None:
    whole, parts = registry.config("tft", micro=64), registry.config("tft", micro=16)
    data = outline()
    assert (
        account("tft", whole, data).step_peak_bytes
        > 2 * account("tft", parts, data).step_peak_bytes
    )


def test_what_is_never_written_is_no_part_of_the_step_peak() -> None:
    it = account("tft", registry.config("tft", micro=64), outline())
    assert it.step_peak_bytes < it.tensor_peak_bytes


def test_other_devices_take_the_whole_batch_and_none_of_the_heap() -> None:
    it = account("mamba2", registry.config("mamba2"), outline(), "cuda")
    whole = account("mamba2", registry.config("mamba2", micro=16), outline())
    assert it.tensor_peak_bytes == whole.tensor_peak_bytes
    assert "whole pages" not in {part.name for part in it.peak_parts}
    assert "whole pages" in {part.name for part in whole.peak_parts}


def test_an_unknown_model_has_no_account() -> None:
    config = registry.config("dqn")
    for ask in (
        lambda: account("mine:Trainer", config, outline()),
        lambda: size_setting("mine:Trainer"),
        lambda: resized("mine:Trainer", config, 1, "batch"),
    ):
        with pytest.raises(UsageError, match="no memory account") as caught:
            ask()
        assert "dqn, ppo, mamba2, tft" in caught.value.remedy


def test_a_setting_that_is_no_whole_number_cannot_be_resized() -> None:
    for setting in ("learning_rate", "hidden", "nonsense"):
        with pytest.raises(UsageError, match=setting):
            resized("dqn", registry.config("dqn"), 1, setting)


def test_a_config_that_does_not_fit_the_data_has_no_account() -> None:
    with pytest.raises(ConfigError, match="n_steps"):
        account("ppo", registry.config("ppo", n_steps=64_000), outline(10_000))


def test_an_account_is_frozen() -> None:
    it = account("dqn", registry.config("dqn"), outline())
    with pytest.raises(dataclasses.FrozenInstanceError):
        it.params_bytes = 0  # type: ignore[misc]


def test_accounts_import_no_torch_and_allocate_nothing(
    fresh_process: Callable[[str], dict[str, Any]],
) -> None:
    seen = fresh_process(
        """
import json, sys, tracemalloc
import numpy as np
from foxbench.features import NAMES
from foxbench.models import registry
from foxbench.models.account import account
from foxbench.models.data import MarketData, Series
zero = np.zeros((), dtype=np.float32)
s = Series("6E", np.broadcast_to(zero, (10**6, 225)), NAMES, np.broadcast_to(zero, (10**6,)),
           np.broadcast_to(zero, (5,)))
tracemalloc.start()
peaks = [account(m, registry.config(m), MarketData((s,))).step_peak_bytes for m in registry.names()]
print(json.dumps({"torch": "torch" in sys.modules, "taken": tracemalloc.get_traced_memory()[1],
                  "peaks": peaks}))
"""
    )
    assert not seen["torch"]
    assert seen["taken"] < 2**20 < min(seen["peaks"])


def test_the_actions_are_the_trainers_own() -> None:
    from foxbench.models import trading
    from foxbench.models.account.trading import N_ACTIONS

    assert trading.N_ACTIONS == N_ACTIONS
