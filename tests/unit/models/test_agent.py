"""The whole agent, against a replay of the same days in one piece."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys

import numpy as np
import pytest

from foxbench.bars.calendar import SESSION_MINUTES
from foxbench.bars.synthetic import synthetic
from foxbench.errors import ConfigError
from foxbench.features import WARMUP, compute
from foxbench.features.frame import Market
from foxbench.features.scaler import CLIP
from foxbench.models import registry
from foxbench.models.configs.agent import POLICIES
from foxbench.models.data import train_bars
from foxbench.models.dataset import next_returns

torch = pytest.importorskip("torch")

STEPS = 40


@pytest.fixture(scope="module")
def bars():
    return synthetic("ES", days=7, seed=5)


def agent(bars, policy="dqn", **settings):
    return registry.build("agent", (bars,), registry.config("agent", policy=policy, **settings))


def run(trader, steps):
    """Positions after each of ``steps`` bars."""
    found = []
    for _ in range(steps):
        trader.step()
        found.append(trader.position)
    return found


def replayed(bars, policy, steps):
    """The same decisions from the matrix of all features, computed at once."""
    trader = agent(bars, policy)
    features = compute(bars)
    held, found = 0, []
    for t in range(trader.first, trader.first + steps):
        raw = torch.from_numpy(features[t + 1 - trader.policy.rows : t + 1])
        held = trader.policy.decide(raw, int(bars.ts_event[t]), held)
        found.append(held)
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_bar_by_bar_it_decides_as_a_replay_of_the_whole_day_does(bars, policy):
    positions = run(agent(bars, policy), STEPS)
    assert positions == replayed(bars, policy, STEPS)
    assert set(positions) <= {-1, 0, 1}


@pytest.mark.parametrize("policy", ["dqn", "mamba2", "tft"])
def test_its_profit_is_what_its_positions_earned_less_what_their_changes_cost(bars, policy):
    trader = agent(bars, policy, cost=0.25)
    positions = [0, *run(trader, STEPS)]
    r = Market(bars).r[trader.first : trader.first + STEPS]
    earned = np.clip(r.astype(np.float64) * trader.per_sd, -CLIP, CLIP)
    changes = np.abs(np.diff(positions))
    expected = float((earned * positions[:-1]).sum() - 0.25 * changes.sum())
    assert trader.profit == pytest.approx(expected, abs=1e-6)
    assert trader.trades == np.count_nonzero(changes)
    assert trader.evaluate() == {
        "reward_per_bar": pytest.approx(expected / STEPS),
        "trades_per_bar": trader.trades / STEPS,
    }


def inputs(trader, steps):
    """What the policy is given at each of ``steps`` bars."""
    seen, decide = [], trader.policy.decide

    def watched(raw, ts_ns, held):
        seen.append((raw.clone(), ts_ns, held))
        return decide(raw, ts_ns, held)

    trader.policy.decide = watched
    run(trader, steps)
    return seen


def same(one, other):
    return torch.equal(one[0], other[0]) and one[1:] == other[1:]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_decision_is_given_anything_of_a_bar_that_has_not_come(bars, policy):
    trader = agent(bars, policy)
    come = trader.first + 10
    doubled = np.where(np.arange(len(bars)) >= come, 2, 1)
    prices = ("open", "high", "low", "close")
    changed = {name: getattr(bars, name) * doubled for name in prices}
    other = agent(dataclasses.replace(bars, **changed), policy)
    # Weights, scales and statics are of the bars before as well.
    held, other_held = (
        [*one.policy.net.state_dict().values(), *one.policy.tensors()] for one in (trader, other)
    )
    assert all(map(torch.equal, held, other_held))
    given, other_given = inputs(trader, 11), inputs(other, 11)
    assert all(map(same, given[:10], other_given[:10]))
    assert not same(given[10], other_given[10])


def test_the_first_live_bar_is_the_first_that_no_model_trains_on(bars):
    n_rows = len(bars) - WARMUP
    trader = agent(bars)
    assert trader.first - WARMUP == train_bars(n_rows)
    sd = next_returns(Market(bars).r[WARMUP:])[: train_bars(n_rows)].std()
    assert trader.per_sd == pytest.approx(1 / sd, rel=0.05)


def test_after_the_last_bar_it_starts_anew_flat_and_does_the_same_again(bars):
    few = bars[: WARMUP + 200]
    trader = agent(few)
    live = len(few) - trader.first
    once = run(trader, live)
    again = run(trader, live)
    assert once == again
    trader.step()
    assert trader.t == trader.first + 1


def test_a_day_is_a_session_or_what_there_is(bars):
    trader = agent(bars)
    assert trader.steps_per_epoch() == min(SESSION_MINUTES, len(bars) - trader.first)


@pytest.mark.parametrize("policy", ["dqn", "tft-int8"])
def test_it_holds_the_same_after_every_bar(bars, policy):
    trader = agent(bars, policy)
    run(trader, 5)
    gc.collect()
    held = trader.bytes()
    objects = len(gc.get_objects())
    run(trader, 100)
    gc.collect()
    assert trader.bytes() == held
    assert len(gc.get_objects()) - objects < 50


def test_int8_weights_take_a_third_of_the_bytes(bars):
    whole, packed = (agent(bars, policy).bytes()["params"] for policy in ("tft", "tft-int8"))
    assert packed < 0.34 * whole


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"policy": "dnq"}, "'dnq' is none of dqn, ppo"),
        ({"history": 10}, "history 10 <"),
        ({"cost": -1.0}, "cost"),
    ],
)
def test_settings_that_do_not_fit_are_refused(bars, settings, named):
    with pytest.raises(ConfigError, match=named):
        registry.build("agent", (bars,), registry.config("agent", **settings))


def test_too_few_bars_for_the_window_are_refused(bars):
    with pytest.raises(ConfigError, match="window of 256"):
        agent(bars[: WARMUP + 200], "mamba2")


def test_two_processes_decide_the_same():
    code = (
        "from foxbench.bars.synthetic import synthetic\n"
        "from foxbench.models import registry\n"
        "trader = registry.build('agent', (synthetic('ES', days=3, seed=5),))\n"
        "for _ in range(40):\n    trader.step()\n"
        "print(trader.position, trader.profit, trader.trades)\n"
    )
    out = [subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)]
    assert out[0] == out[1]
