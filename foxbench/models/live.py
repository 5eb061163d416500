"""Deciding live: what stands between a trained network and the next position.

A policy holds weights and scales and nothing that training needs.  It is given the raw features
of the newest bars and the position held, and answers with the position to take.  What feeds it
is not its concern: the held-out bars of a series (``inference.py``) or a market (``agent.py``).
"""

from __future__ import annotations

import copy
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from foxbench.features.live import clock, upcoming
from foxbench.models.common import Scale
from foxbench.models.configs import TftConfig

Net = TypeVar("Net", bound=nn.Module)


def freeze_(net: Net) -> Net:
    """``net`` itself, which from now on wants no gradients and drops nothing."""
    return net.requires_grad_(False).eval()


def frozen(net: Net) -> Net:
    """A copy of ``net`` that shares nothing with it, frozen."""
    return freeze_(copy.deepcopy(net))


def greedy(net: nn.Module, observation: Tensor) -> int:
    """The position (-1, 0, 1) whose action ``net`` rates highest; ``observation`` (1, F + 1)."""
    return int(net(observation).argmax()) - 1


def best_position(forecast: float, held: int, cost: float) -> int:
    """The position in {-1, 0, 1} that earns most if ``forecast`` comes true, costs paid.

    The reward of :mod:`foxbench.models.trading`; where two earn the same, the one closer to the
    position held.

    Parameters
    ----------
    forecast : float
        Return ahead, in standard deviations of a bar's return.
    held : int
    cost : float
        Of changing the position by 1, in the same unit.
    """
    by_distance = sorted((-1, 0, 1), key=lambda position: abs(position - held))
    return max(by_distance, key=lambda position: position * forecast - cost * abs(position - held))


class Policy(Protocol):
    """Network, scale and rule of one model.

    Attributes
    ----------
    net : torch.nn.Module
        Frozen.
    rows : int
        Bars of features a decision reads.
    """

    net: nn.Module
    rows: int

    def decide(self, raw: Tensor, ts_ns: int, held: int) -> int:
        """The position to take.

        Parameters
        ----------
        raw : float32 (rows, n_features)
            Features of the newest bars, oldest first; may be memory that is written later.
        ts_ns : int
            Open of the newest bar, ns UTC.
        held : int
            The position now.
        """

    def tensors(self) -> list[Tensor]:
        """What is held besides the network's weights."""


class ActionPolicy:
    """The action an agent's network (DQN, PPO) rates highest.

    Parameters
    ----------
    net : torch.nn.Module
        Observation (n, F + 1) -> ratings (n, 3); frozen.
    scale : Scale
    """

    rows = 1

    def __init__(self, net: nn.Module, scale: Scale) -> None:
        self.net, self.scale = net, scale
        self._observation = scale.mean.new_zeros(1, len(scale.mean) + 1)

    @torch.no_grad()
    def decide(self, raw: Tensor, ts_ns: int, held: int) -> int:
        """See :class:`Policy`."""
        now = self._observation
        self.scale.scale(raw[-1].to(now.device), out=now[0, :-1])
        now[0, -1] = held
        return greedy(self.net, now)

    def tensors(self) -> list[Tensor]:
        """The scale and one observation."""
        return [self.scale.mean, self.scale.inv_sd, self._observation]


class ReturnPolicy:
    """A forecast of the next return (MAMBA-2), and the position that it makes best.

    Parameters
    ----------
    net : torch.nn.Module
        Window (1, rows, F) -> a forecast a bar (1, rows); frozen.
    scale : Scale
    rows : int
        Bars of the window.
    cost : float
        As in :func:`best_position`.
    """

    def __init__(self, net: nn.Module, scale: Scale, rows: int, cost: float = 0.0) -> None:
        self.net, self.scale, self.rows, self.cost = net, scale, rows, cost

    @torch.no_grad()
    def forecast(self, raw: Tensor) -> float:
        """The return after the newest bar, in standard deviations of a bar's return."""
        window = self.scale.scale(raw.to(self.scale.mean.device))
        return float(self.net(window.unsqueeze(0))[0, -1])

    def decide(self, raw: Tensor, ts_ns: int, held: int) -> int:
        """See :class:`Policy`."""
        return best_position(self.forecast(raw), held, self.cost)

    def tensors(self) -> list[Tensor]:
        """The scale."""
        return [self.scale.mean, self.scale.inv_sd]


class QuantilePolicy:
    """Quantiles of the return over the next bars (TFT), and the position the median makes best.

    The columns known ahead are those of the next minutes of trading, by the calendar.

    Parameters
    ----------
    net : torch.nn.Module
        As :class:`foxbench.models.tft.Tft`; frozen.
    scale : Scale
        Of the columns ``cfg.known + cfg.observed``.
    static : Tensor (1, statics)
        Scaled.
    cfg : TftConfig
    feature_names : tuple of str
        Of the columns that a decision is given.
    cost : float
        As in :func:`best_position`.
    """

    def __init__(
        self,
        net: nn.Module,
        scale: Scale,
        static: Tensor,
        cfg: TftConfig,
        feature_names: tuple[str, ...],
        cost: float = 0.0,
    ) -> None:
        self.net, self.scale, self.static, self.cfg, self.cost = net, scale, static, cfg, cost
        self.rows = cfg.encoder
        columns = [feature_names.index(name) for name in cfg.known + cfg.observed]
        self.columns = torch.tensor(columns, device=static.device)
        # The quantile closest to the middle, where there is no median.
        self.median = min(range(len(cfg.quantiles)), key=lambda i: abs(cfg.quantiles[i] - 0.5))

    @torch.no_grad()
    def forecast(self, raw: Tensor, ts_ns: int) -> Tensor:
        """Quantiles (decoder, quantiles) of the cumulative return after the newest bar."""
        device = self.static.device
        past = self.scale.scale(raw.to(device).index_select(1, self.columns))
        known = clock(upcoming(ts_ns, self.cfg.decoder))
        ahead = past.new_zeros(self.cfg.decoder, past.shape[1])
        for i, name in enumerate(self.cfg.known):
            ahead[:, i] = torch.from_numpy(known[name])
        ahead = self.scale.scale(ahead)[:, : len(self.cfg.known)]
        quantiles: Tensor = self.net(self.static, past.unsqueeze(1), ahead.unsqueeze(1))[:, 0]
        return quantiles

    def decide(self, raw: Tensor, ts_ns: int, held: int) -> int:
        """See :class:`Policy`."""
        return best_position(float(self.forecast(raw, ts_ns)[-1, self.median]), held, self.cost)

    def tensors(self) -> list[Tensor]:
        """The scale, the statics and the columns' numbers."""
        return [self.scale.mean, self.scale.inv_sd, self.static, self.columns]
