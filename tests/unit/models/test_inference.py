"""Inference workloads: a live bot's share of a trainer, led through the held-out bars."""

import dataclasses

import numpy as np
import pytest
import torch

from foxbench.models import registry
from foxbench.models.inference import (
    DqnInference,
    Mamba2Inference,
    PpoInference,
    TftInference,
    TftInt8Inference,
)
from foxbench.models.protocol import Trainer

SMALL = {
    "dqn": {"hidden": (32, 16), "batch": 8, "warmup": 64, "capacity": 100},
    "ppo": {"hidden": (32, 16), "n_steps": 64, "minibatch": 16, "epochs": 1},
    "mamba2": {
        "d_model": 16,
        "layers": 2,
        "headdim": 8,
        "d_state": 8,
        "chunk": 8,
        "seq_len": 32,
        "batch": 4,
    },
    "tft": {"d_model": 16, "heads": 2, "encoder": 12, "decoder": 5, "batch": 8, "micro": 4},
}
#: Of each workload: its class, the model that is trained, and the attribute that holds its net.
WORKLOADS = {
    "dqn-infer": (DqnInference, "dqn", "online"),
    "ppo-infer": (PpoInference, "ppo", "actor"),
    "mamba2-infer": (Mamba2Inference, "mamba2", "model"),
    "tft-infer": (TftInference, "tft", "model"),
    "tft-int8": (TftInt8Inference, "tft", "model"),
}
FLOAT = [name for name in WORKLOADS if name != "tft-int8"]


@pytest.fixture(scope="module")
def market(make_market):
    """Two instruments of 500 bars (400 to train on), no rule."""
    return make_market(n_bars=500, n_features=12, roots=("ES", "NQ"))


def build(name, market, **settings):
    model = WORKLOADS[name][1] if name in WORKLOADS else name
    return registry.build(name, market, registry.config(name, **{**SMALL[model], **settings}))


def trained(name, market, steps=3):
    trainer = build(WORKLOADS[name][1], market)
    for _ in range(steps):
        trainer.step()
    return trainer


def weights(net):
    return [p.detach().clone() for p in net.parameters()]


def equal(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_the_registry_knows_them_as_inference():
    assert registry.names("inference") == tuple(WORKLOADS)
    assert registry.names() == ("dqn", "ppo", "mamba2", "tft")
    assert set(registry.names(None)) == {*registry.names(), *WORKLOADS, "agent"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_step_has_no_loss_and_the_protocol_is_kept(name, market):
    workload = build(name, market)
    assert isinstance(workload, Trainer)
    assert workload.step() is None
    assert workload.infer() is not None
    assert all(np.isfinite(value) for value in workload.evaluate().values())


@pytest.mark.parametrize("name", FLOAT)
def test_untrained_weights_are_those_a_trainer_begins_with(name, market):
    attribute = WORKLOADS[name][2]
    trainer = build(WORKLOADS[name][1], market, seed=5)
    workload = build(name, market, seed=5)
    assert equal(weights(workload.net), weights(getattr(trainer, attribute)))
    assert not equal(weights(workload.net), weights(build(name, market, seed=6).net))


@pytest.mark.parametrize("name", FLOAT)
def test_a_trainers_weights_are_copied_and_its_training_goes_its_own_way(name, market):
    cls, _, attribute = WORKLOADS[name]
    trainer = trained(name, market)
    workload = cls.from_trainer(trainer)
    before = weights(workload.net)
    assert equal(before, weights(getattr(trainer, attribute)))
    trainer.step()
    assert equal(before, weights(workload.net))
    assert not equal(before, weights(getattr(trainer, attribute)))


@pytest.mark.parametrize("name", FLOAT)
def test_it_scores_as_its_trainer_does(name, market):
    trainer = trained(name, market)
    mine, theirs = WORKLOADS[name][0].from_trainer(trainer).evaluate(), trainer.evaluate()
    # Without a critic or a target network there is no loss to compare.
    shared = {key: theirs[key] for key in mine}
    assert mine == pytest.approx(shared, rel=1e-6)
    assert len(shared) >= 1


@pytest.mark.parametrize("name", WORKLOADS)
def test_steps_lead_through_the_held_out_bars_and_round_again(name, market):
    workload = build(name, market)
    n = workload.steps_per_epoch()
    assert workload.first == 400
    assert n == (95 if "tft" in name else 100)  # 5 bars ahead are part of a window
    seen = []
    for _ in range(n + 2):
        seen.append(workload.t)
        workload.step()
    assert seen == [*range(400, 400 + n), 400, 401]


@pytest.mark.parametrize("name", ["dqn-infer", "ppo-infer"])
def test_the_positions_taken_earn_what_the_evaluation_says(name, market):
    workload = WORKLOADS[name][0].from_trainer(trained(name, market))
    r, earned, cost = workload.bars.r.numpy(), 0.0, workload.cfg.cost
    for t in range(400, 499):
        held = workload.position
        workload.step()
        earned += workload.position * r[t] - cost * abs(workload.position - held)
    assert earned / 99 == pytest.approx(workload.evaluate()["reward_per_bar"], rel=1e-4)
    workload.step()
    assert workload.position == 0  # the next round begins flat


def test_the_forecast_at_a_bar_sees_none_of_the_later_ones(market):
    workload = build("mamba2-infer", market)
    first = market.first
    features = first.features.copy()
    features[401:] = 7.0
    changed = dataclasses.replace(first, features=features)
    other = build("mamba2-infer", dataclasses.replace(market, series=(changed,)))
    assert workload.infer() == other.infer()
    workload.step()
    other.step()
    assert workload.infer() != other.infer()


def test_the_last_forecast_is_the_trainers(market):
    for name in ("mamba2-infer", "tft-infer"):
        trainer = trained(name, market)
        workload = WORKLOADS[name][0].from_trainer(trainer)
        # The TFT's last whole window ends with the bars ahead, its last bar is before them.
        workload.t = workload.end - 1
        assert np.array_equal(workload.infer(), trainer.infer())


@pytest.mark.parametrize("name", WORKLOADS)
def test_bytes_are_what_gc_finds_and_no_step_adds_to_them(name, market, new_tensor_bytes):
    workload = build(name, market)
    workload.step()
    found = workload.bytes()
    assert set(found) == {"params", "grads", "optimizer", "buffers", "data"}
    assert found["grads"] == found["optimizer"] == 0
    # The agents count the copies of the scale among the buffers; nothing is counted twice.
    assert sum(found.values()) == new_tensor_bytes()
    for _ in range(5):
        workload.step()
    assert workload.bytes() == found
    assert sum(found.values()) == new_tensor_bytes()


@pytest.mark.parametrize("name", WORKLOADS)
def test_it_holds_less_than_half_of_what_its_trainer_does(name, market):
    trainer = trained(name, market)
    workload = WORKLOADS[name][0].from_trainer(trainer)

    def held(one):
        return sum(one.bytes().values()) - one.bytes()["data"]

    assert held(workload) < 0.5 * held(trainer)
    assert not any(p.requires_grad for p in workload.net.parameters())


def test_few_held_out_bars_still_leave_a_window(make_market):
    market = make_market(n_bars=24, n_features=12, roots=("ES",))  # 4 held out, 5 ahead
    workload = build("tft-infer", market)
    assert workload.steps_per_epoch() == 1
    assert workload.infer().shape == (5, 3)
    workload.step()
    workload.step()


def test_no_inference_imports_dynamo_and_two_processes_agree(fresh_process):
    code = f"""
import json, sys
import numpy as np
from foxbench.models import registry
from foxbench.models.data import MarketData, Series
from foxbench.models.configs.tft import KNOWN, OBSERVED
rng = np.random.default_rng(0)
series = Series("ES", rng.standard_normal((500, 12), dtype=np.float32),
                (*KNOWN, *OBSERVED, "a", "b", "c"),
                rng.standard_normal(500).astype(np.float32), np.zeros(5, np.float32))
found = {{}}
for name, small in { ({n: SMALL[w[1]] for n, w in WORKLOADS.items()})!r}.items():
    workload = registry.build(name, MarketData((series,)), registry.config(name, **small))
    workload.step()
    found[name] = repr(workload.infer())
print(json.dumps({{"found": found, "dynamo": "torch._dynamo" in sys.modules}}))
"""
    first, second = fresh_process(code), fresh_process(code)
    assert first == second
    assert not first["dynamo"]
    assert len(first["found"]) == 5
