"""Inference as a workload: what a live bot holds of each model, and one call a step.

Built like a trainer and with its config, but without optimizer, gradients, replay, rollout,
target network or critic.  A step takes in the next held-out bar and decides or forecasts once;
after the last bar it begins again.  Weights are those a trainer of the same seed begins with, or
copies of a trained one's::

    DqnInference.from_trainer(trainer)
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from foxbench.models.common import Bars, component_bytes, seeded
from foxbench.models.configs import DqnConfig, Mamba2Config, PpoConfig, TftConfig
from foxbench.models.data import MarketData
from foxbench.models.dqn import EVAL_BARS, q_network
from foxbench.models.live import ActionPolicy, ReturnPolicy, freeze_, frozen
from foxbench.models.mamba2 import Mamba2
from foxbench.models.mamba2 import score as mamba2_score
from foxbench.models.ppo import actor_and_critic
from foxbench.models.quantize import quantize_
from foxbench.models.tft import Tft, TftTrainer, forecast
from foxbench.models.tft import score as tft_score
from foxbench.models.tft_data import Windows
from foxbench.models.trading import reward, tabulate, walk

Made = TypeVar("Made", bound="_Inference")


class _Inference(abc.ABC):
    """A frozen network and the held-out bars it is led through, round and round.

    Attributes
    ----------
    net : torch.nn.Module
    first, end : int
        Bars it is led through, the end not included.
    t : int
        The bar that the next call takes in.
    """

    net: nn.Module
    first: int
    end: int
    #: The trainer's attribute that holds the network a live bot needs.
    trained: ClassVar[str]

    def __init__(self, data: MarketData, cfg: Any, device: str = "cpu") -> None:
        cfg.check(data)
        seeded(cfg.seed)
        self.cfg, self.device = cfg, device
        self._read(data)
        self._hold(self._network())

    @classmethod
    def from_trainer(cls: type[Made], trainer: Any) -> Made:
        """Inference with a copy of ``trainer``'s weights, on its data; shares no training state."""
        made = cls.__new__(cls)
        made.cfg, made.device = trainer.cfg, trainer.device
        made._share(trainer)
        made._hold(frozen(getattr(trainer, cls.trained)))
        return made

    def _hold(self, net: nn.Module) -> None:
        self.net = self._prepared(freeze_(net).to(self.device))
        self.t = self.first

    def _prepared(self, net: nn.Module) -> nn.Module:
        return net

    @abc.abstractmethod
    def _read(self, data: MarketData) -> None:
        """Put ``data`` on the device; sets ``first`` and ``end``."""

    @abc.abstractmethod
    def _share(self, trainer: Any) -> None:
        """The same with what ``trainer`` has there already; nothing of it is ever written."""

    @abc.abstractmethod
    def _network(self) -> nn.Module:
        """The network with its first weights, as a trainer of the same seed makes them."""

    @abc.abstractmethod
    def infer(self) -> Any:
        """One call for bar ``t``; changes nothing."""

    def step(self) -> None:
        """One call, for the next held-out bar.  An inference has no loss."""
        self.infer()
        self._advance()

    def _advance(self) -> bool:
        """To the next bar; True where that is the first one again."""
        self.t += 1
        if self.t < self.end:
            return False
        self.t = self.first
        return True

    def steps_per_epoch(self) -> int:
        """The held-out bars, one a step."""
        return self.end - self.first

    @abc.abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Score the network on the held-out bars, where ``step`` is left where it is."""

    def bytes(self) -> dict[str, int]:
        """Bytes by component as of a trainer; ``grads`` and ``optimizer`` are 0."""
        return component_bytes(
            params=[*self.net.parameters(), *self.net.buffers()],
            optimizer=(),
            buffers=self._buffers(),
            data=self._data(),
        )

    @abc.abstractmethod
    def _buffers(self) -> list[Tensor]:
        """What is held besides the weights."""

    @abc.abstractmethod
    def _data(self) -> list[Tensor]:
        """What stands for the market."""


class _FirstSeries(_Inference):
    """Inference of a model that reads all features of the first series."""

    bars: Bars

    def _read(self, data: MarketData) -> None:
        self.bars = Bars(data.first, self.device)
        self.first, self.end = self.bars.n_train, self.bars.n

    def _share(self, trainer: Any) -> None:
        self.bars = trainer.bars
        self.first, self.end = self.bars.n_train, self.bars.n

    def _newest(self, rows: int) -> Tensor:
        return self.bars.x[self.t - rows + 1 : self.t + 1]

    def _data(self) -> list[Tensor]:
        # The returns only serve evaluate(): a live bot has none of what follows.
        return [self.bars.x, self.bars.r]


class _ActionInference(_FirstSeries):
    """The greedy position at each bar, taken, so that the next bar finds it held."""

    cfg: DqnConfig | PpoConfig

    def _hold(self, net: nn.Module) -> None:
        super()._hold(net)
        self.policy = ActionPolicy(self.net, self.bars)
        self.position = 0

    def infer(self) -> int:
        """The position (-1, 0, 1) to take at bar ``t``."""
        return self.policy.decide(self._newest(1), 0, self.position)

    def step(self) -> None:
        """Take the position that is best at the next held-out bar; each round begins flat."""
        self.position = self.infer()
        if self._advance():
            self.position = 0

    def evaluate(self) -> dict[str, float]:
        """Trade the held-out bars from a flat position.

        Returns
        -------
        dict
            ``reward_per_bar``: mean reward, costs paid, in standard deviations of a return.
        """
        ratings = tabulate(self.bars, self.first, self.end, EVAL_BARS, self.net)
        # The last bar has no return.
        path = torch.from_numpy(walk(ratings[:-1].argmax(dim=2).numpy(), 0))
        r = self.bars.r[self.first : self.end - 1].cpu()
        gain = reward(path[1:], path[:-1], r, self.cfg.cost)
        return {"reward_per_bar": gain.mean().item()}

    def _buffers(self) -> list[Tensor]:
        return self.policy.tensors()


class DqnInference(_ActionInference):
    """The online network of :class:`DqnTrainer`."""

    cfg: DqnConfig
    trained = "online"

    def _network(self) -> nn.Module:
        return q_network(self.bars.n_features, self.cfg)


class PpoInference(_ActionInference):
    """The actor of :class:`PpoTrainer`; live trading needs no critic."""

    cfg: PpoConfig
    trained = "actor"

    def _network(self) -> nn.Module:
        return actor_and_critic(self.bars.n_features, self.cfg)[0]


class Mamba2Inference(_FirstSeries):
    """The forecast of the next return from the window that ends at each bar."""

    cfg: Mamba2Config
    trained = "model"

    def _network(self) -> nn.Module:
        return Mamba2(self.bars.n_features, self.cfg)

    def _hold(self, net: nn.Module) -> None:
        super()._hold(net)
        self.policy = ReturnPolicy(self.net, self.bars, self.cfg.seq_len)

    def infer(self) -> float:
        """Forecast of the return after bar ``t``, in standard deviations of a bar's return."""
        return self.policy.forecast(self._newest(self.policy.rows))

    def evaluate(self) -> dict[str, float]:
        """As :meth:`Mamba2Trainer.evaluate`."""
        micro = self.cfg.micro_for(self.device)
        return mamba2_score(self.net, self.bars, self.cfg.seq_len, micro)

    def _buffers(self) -> list[Tensor]:
        return self.policy.tensors()


class TftInference(_Inference):
    """Quantiles of the return over the next bars, from the first series' window at each bar."""

    cfg: TftConfig
    trained = "model"

    def _read(self, data: MarketData) -> None:
        self.windows = Windows(data, self.cfg, self.device)
        self._bound()

    def _share(self, trainer: TftTrainer) -> None:
        self.windows = trainer.windows
        self._bound()

    def _bound(self) -> None:
        # The last bar with a whole window ahead; of few held-out bars none may have one.
        self.end = int(self.windows.n[0]) - self.windows.decoder
        self.first = min(int(self.windows.n_train[0]), self.end - 1)
        self.quantiles = torch.tensor(self.cfg.quantiles, device=self.device)

    def _network(self) -> nn.Module:
        return Tft(self.cfg, self.device)

    def infer(self) -> NDArray[np.float32]:
        """Quantiles (decoder, quantiles) of the return after bar ``t``, in training sd."""
        return forecast(self.net, self.windows, np.array([self.t - self.windows.encoder + 1]))

    def evaluate(self) -> dict[str, float]:
        """As :meth:`TftTrainer.evaluate`, over all series."""
        return tft_score(self.net, self.windows, self.quantiles, self.cfg.micro_for(self.device))

    def _buffers(self) -> list[Tensor]:
        return [self.quantiles]

    def _data(self) -> list[Tensor]:
        return self.windows.tensors()


class TftInt8Inference(TftInference):
    """The same with weights of 8 bits, see :mod:`foxbench.models.quantize`."""

    def _prepared(self, net: nn.Module) -> nn.Module:
        return quantize_(net)
