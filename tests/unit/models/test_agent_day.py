"""A whole day of bars through the agent: each in its turn, and a book that can be recomputed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from foxbench.bars import calendar
from foxbench.bars.synthetic import synthetic
from foxbench.features import compute
from foxbench.features.frame import Market
from foxbench.features.scaler import CLIP
from foxbench.models import registry
from foxbench.models.agent import Agent


@dataclass(frozen=True)
class Day:
    """What a day left behind.

    Attributes
    ----------
    trader : Agent
        After the day's last bar.
    arrived : list of int
        Opens of the bars that the features ended with, ns.
    positions, profits
        After each bar.
    held_bytes : list of int
        By the agent's own account, after each bar.
    """

    trader: Agent
    arrived: list[int]
    positions: list[int]
    profits: list[float]
    held_bytes: list[int]


@pytest.fixture(scope="module")
def bars():
    return synthetic("ES", days=9, start="2025-06-02", seed=5)


@pytest.fixture(scope="module")
def day(bars):
    trader = registry.build("agent", (bars,))
    found = Day(trader, [], [], [], [])
    for _ in range(trader.steps_per_epoch()):
        trader.step()
        found.arrived.append(int(trader.features.market.bars.ts_event[-1]))
        found.positions.append(trader.position)
        found.profits.append(trader.profit)
        found.held_bytes.append(sum(trader.bytes().values()))
    return found


def live(bars, day):
    return slice(day.trader.first, day.trader.first + len(day.positions))


def test_a_day_is_a_session_of_bars_over_a_session_boundary(bars, day):
    assert len(day.positions) == calendar.SESSION_MINUTES
    assert len(set(calendar.trade_date(bars.ts_event[live(bars, day)]).tolist())) >= 2


def test_every_bar_arrives_in_its_order_and_once(bars, day):
    assert day.arrived == bars.ts_event[live(bars, day)].tolist()


def test_all_decisions_are_those_of_the_matrix_computed_at_once(bars, day):
    policy, features, held = registry.build("agent", (bars,)).policy, compute(bars), 0
    expected = []
    for t in range(*live(bars, day).indices(len(bars))):
        held = policy.decide(torch.from_numpy(features[t : t + 1]), 0, held)
        expected.append(held)
    assert day.positions == expected
    assert set(expected) == {-1, 0, 1}


def test_the_book_is_the_cash_that_each_trade_moved_and_the_position_at_its_price(bars, day):
    """A position bought at one log price and sold at another: no return of a bar is looked at."""
    rows = live(bars, day)
    market = Market(bars)
    price, r = (column[rows] * day.trader.per_sd for column in (market.p, market.r))
    positions = np.array(day.positions)
    bought = np.diff(positions, prepend=0)
    cash = np.cumsum(-bought * price - day.trader.cfg.cost * np.abs(bought))
    # Rewards are clipped and cash is not: what the clip took of a bar's return is no profit.
    held = positions - bought
    taken = np.cumsum(held * (r - np.clip(r, -CLIP, CLIP)))
    worth = cash + positions * price - taken
    assert day.profits == pytest.approx(worth.tolist(), abs=1e-6)
    assert day.trader.trades == np.count_nonzero(bought)
    assert day.trader.evaluate() == {
        "reward_per_bar": pytest.approx(worth[-1] / len(worth)),
        "trades_per_bar": np.count_nonzero(bought) / len(worth),
    }


def test_nothing_that_is_held_grows(day):
    assert len(set(day.held_bytes)) == 1
