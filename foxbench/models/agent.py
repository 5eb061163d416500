"""The whole agent: a bar arrives, its features are computed, the model decides, the book moves.

The market is replayed from the first held-out bar; what came before it is the past that a bot
reads when it starts.  Everything a bar needs is computed from that bar and bounded state
(:mod:`foxbench.features.live`), so that the agent may run for ever.  After the last bar it starts
anew, as a bot that was restarted: flat, and with nothing earned.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import nn

from foxbench.bars.calendar import SESSION_MINUTES
from foxbench.bars.schema import Bars
from foxbench.features import NAMES, WARMUP
from foxbench.features.frame import Market
from foxbench.features.live import LiveFeatures
from foxbench.features.scaler import CLIP, FIT_ROWS
from foxbench.models.common import Scale, component_bytes, returns_scale, seeded
from foxbench.models.configs import AgentConfig, DqnConfig, Mamba2Config, PpoConfig
from foxbench.models.data import MarketData, train_bars
from foxbench.models.dataset import next_returns, series
from foxbench.models.dqn import q_network
from foxbench.models.live import ActionPolicy, Policy, QuantilePolicy, ReturnPolicy, freeze_, frozen
from foxbench.models.mamba2 import Mamba2
from foxbench.models.ppo import actor_and_critic
from foxbench.models.quantize import quantize_
from foxbench.models.tft import Tft
from foxbench.models.tft_data import scaled_statics


class Agent:
    """Trades the first instrument, one bar a step.

    Parameters
    ----------
    bars : tuple of Bars
        One an instrument.  The others only give the TFT's statics their scale.
    cfg : AgentConfig
    device : str
        Of the model; features are computed on the CPU.
    trained : torch.nn.Module, optional
        Network whose weights are copied: a DQN's ``online``, a PPO's ``actor``, the ``model`` of
        the others.  By default weights as a trainer of the same seed begins with.

    Attributes
    ----------
    position : int
        Held now: -1, 0 or 1.
    profit : float
        Earned since the start, costs paid, in standard deviations of a bar's return; the rewards
        of :mod:`foxbench.models.trading`, added up.
    trades : int
        Changes of the position since the start.

    Raises
    ------
    ConfigError
        The config does not fit itself or the bars.
    """

    reads = "bars"

    def __init__(
        self,
        bars: tuple[Bars, ...],
        cfg: AgentConfig,
        device: str = "cpu",
        trained: nn.Module | None = None,
    ) -> None:
        cfg.check(bars)
        self.cfg = cfg
        self.bars = bars[0]
        n_train = train_bars(len(self.bars) - WARMUP)
        self.first = WARMUP + n_train
        returns = next_returns(Market(self.bars).r[WARMUP:])
        self.per_sd = float(returns_scale(returns, n_train))
        self.policy = _policy(bars, cfg, device, trained)
        self._start()

    def _start(self) -> None:
        """Read the past, up to the bar before the first live one."""
        past = self.bars[: self.first]
        self.features = LiveFeatures(past, self.policy.rows, self.cfg.history)
        self.t = self.first
        self.position, self.profit, self.trades = 0, 0.0, 0

    def step(self) -> None:
        """One bar, from its arrival to the position taken on it.  There is no loss."""
        if self.t == len(self.bars):
            self._start()
        # 1. The bar arrives, and its features are computed.
        bar = self.bars[self.t : self.t + 1]
        raw = torch.from_numpy(self.features.push(bar))
        # 2. What the position held has earned.
        earned = min(max(self.features.r * self.per_sd, -CLIP), CLIP)
        self.profit += self.position * earned
        # 3. The model decides.
        wanted = self.policy.decide(raw, int(bar.ts_event[0]), self.position)
        # 4. The position changes, at a cost.
        self.profit -= self.cfg.cost * abs(wanted - self.position)
        self.trades += wanted != self.position
        self.position = wanted
        self.t += 1

    def evaluate(self) -> dict[str, float]:
        """What the bars since the start have earned; computes nothing anew.

        Returns
        -------
        dict
            ``reward_per_bar``: mean reward, costs paid, in standard deviations of a return;
            ``trades_per_bar``.
        """
        n = max(1, self.t - self.first)
        return {"reward_per_bar": self.profit / n, "trades_per_bar": self.trades / n}

    def steps_per_epoch(self) -> int:
        """Bars of a day: a whole session, or all live bars if they are fewer."""
        return min(SESSION_MINUTES, len(self.bars) - self.first)

    def bytes(self) -> dict[str, int]:
        """Bytes by component; ``data`` is the bars, which are shared with the caller.

        ``buffers`` are the features' history and window, the scale and what the policy holds.
        """
        net = self.policy.net
        found = component_bytes(
            params=[*net.parameters(), *net.buffers()],
            optimizer=(),
            buffers=self.policy.tensors(),
            data=(),
        )
        found["buffers"] += self.features.nbytes
        found["data"] += _bars_bytes(self.bars)
        return found


def _policy(
    bars: tuple[Bars, ...], cfg: AgentConfig, device: str, trained: nn.Module | None
) -> Policy:
    """The policy of ``cfg``, its scales fitted to the training bars as a trainer fits them."""
    model = cfg.model()
    # Nothing of a trainer's scale looks beyond these rows.
    head = series(bars[0], WARMUP + FIT_ROWS)
    training = head.features[: train_bars(len(bars[0]) - WARMUP)]
    seeded(cfg.seed)
    if isinstance(model, DqnConfig):
        q = _weights(trained or q_network(len(NAMES), model), trained, device)
        return ActionPolicy(q, Scale(training, device))
    if isinstance(model, PpoConfig):
        actor = _weights(trained or actor_and_critic(len(NAMES), model)[0], trained, device)
        return ActionPolicy(actor, Scale(training, device))
    if isinstance(model, Mamba2Config):
        mamba2 = _weights(trained or Mamba2(len(NAMES), model), trained, device)
        return ReturnPolicy(mamba2, Scale(training, device), cfg.rows(), cfg.cost)
    tft = _weights(trained or Tft(model, device), trained, device)
    if cfg.policy == "tft-int8":
        quantize_(tft)
    few = training[:, [NAMES.index(name) for name in model.known + model.observed]]
    others = (series(b, WARMUP + FIT_ROWS) for b in bars[1:])
    static = torch.from_numpy(scaled_statics(MarketData((head, *others)))[:1]).to(device)
    return QuantilePolicy(tft, Scale(few, device), static, model, NAMES, cfg.cost)


def _weights(net: nn.Module, trained: nn.Module | None, device: str) -> nn.Module:
    """``net`` frozen; a copy where it is somebody's trained one."""
    return (freeze_(net) if trained is None else frozen(net)).to(device)


def _bars_bytes(bars: Bars) -> int:
    columns = (getattr(bars, field.name) for field in dataclasses.fields(bars))
    return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))
