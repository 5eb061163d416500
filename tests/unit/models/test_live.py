"""Deciding: the best position for a forecast, and networks that share nothing with a trainer."""

import itertools

import pytest
import torch

from foxbench.models.common import Scale
from foxbench.models.configs import DqnConfig, TftConfig
from foxbench.models.configs.tft import KNOWN, OBSERVED
from foxbench.models.dqn import q_network
from foxbench.models.live import ActionPolicy, QuantilePolicy, best_position, frozen, greedy
from foxbench.models.tft import Tft
from foxbench.models.trading import reward


@pytest.mark.parametrize("held", [-1, 0, 1])
@pytest.mark.parametrize("cost", [0.0, 0.1, 0.7])
def test_no_other_position_earns_more(held, cost):
    for forecast in torch.linspace(-2, 2, 81).tolist():
        chosen = best_position(forecast, held, cost)
        r = torch.tensor([forecast])
        earns = {
            after: float(reward(torch.tensor([after]), torch.tensor([held]), r, cost))
            for after in (-1, 0, 1)
        }
        assert earns[chosen] >= max(earns.values()) - 1e-6


@pytest.mark.parametrize("held", [-1, 0, 1])
def test_without_a_forecast_the_position_stays(held):
    assert best_position(0.0, held, 0.0) == held
    assert best_position(0.0, held, 0.1) == held


def test_where_two_positions_earn_the_same_the_closer_one_is_taken():
    assert best_position(0.5, 0, 0.5) == 0
    assert best_position(-0.5, 0, 0.5) == 0
    assert best_position(0.5, -1, 0.5) == -1


def test_greedy_takes_the_position_of_the_highest_rating():
    for order in itertools.permutations((0.0, 1.0, 2.0)):
        ratings = torch.tensor([order])
        assert greedy(lambda _, found=ratings: found, torch.zeros(1, 4)) == order.index(2.0) - 1


def test_a_frozen_copy_shares_nothing_and_wants_no_gradients():
    net = q_network(4, DqnConfig(hidden=(8,)))
    copy = frozen(net)
    assert not copy.training
    assert not any(p.requires_grad for p in copy.parameters())
    mine = {p.data_ptr() for p in copy.parameters()}
    assert mine.isdisjoint(p.data_ptr() for p in net.parameters())
    assert all(p.requires_grad for p in net.parameters())


def test_a_decision_leaves_the_window_it_was_given_as_it_was():
    torch.manual_seed(0)
    raw = torch.randn(3, 6)
    before = raw.clone()
    policy = ActionPolicy(frozen(q_network(6, DqnConfig(hidden=(8,)))), Scale(raw.numpy()))
    policy.decide(raw, 0, 1)
    assert torch.equal(raw, before)


@pytest.mark.parametrize(
    ("quantiles", "taken"), [((0.1, 0.5, 0.9), 1), ((0.4, 0.9), 0), ((0.05, 0.2, 0.45, 0.8), 2)]
)
def test_the_quantile_closest_to_the_middle_decides(quantiles, taken):
    cfg = TftConfig(d_model=8, heads=2, encoder=6, decoder=3, quantiles=quantiles)
    names = (*KNOWN, *OBSERVED, "unread")
    torch.manual_seed(0)
    raw = torch.randn(cfg.encoder, len(names))
    scale = Scale(raw[:, : len(KNOWN + OBSERVED)].numpy())
    policy = QuantilePolicy(frozen(Tft(cfg)), scale, torch.zeros(1, 5), cfg, names)
    found = policy.forecast(raw, 1_749_000_000 * 10**9)
    assert found.shape == (cfg.decoder, len(quantiles))
    wanted = best_position(float(found[-1, taken]), 0, 0.0)
    assert policy.decide(raw, 1_749_000_000 * 10**9, 0) == wanted
    raw[:, -1] += 5.0  # no column of the model
    assert torch.equal(policy.forecast(raw, 1_749_000_000 * 10**9), found)
