"""Settings of the PPO trainer (Schulman et al. 2017, arXiv:1707.06347)."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.models.configs.checks import Mismatches
from foxbench.models.configs.dqn import check_observation
from foxbench.models.data import MarketData


@dataclass(frozen=True)
class PpoConfig:
    """Settings of :class:`foxbench.models.ppo.PpoTrainer`.

    Attributes
    ----------
    input_dim : int or None
        Width of an observation: features + the position.  None derives it.
    hidden : tuple of int
        Units of the hidden tanh layers, the same for actor and critic.
    n_steps : int
        Bars of one rollout.
    minibatch : int
        Transitions of one optimizer step; divides ``n_steps``.
    epochs : int
        Passes over a rollout.
    table_bars : int
        Bars of one batched forward of the rollout (times three positions).
    gamma, gae_lambda : float
        Discount of one bar, and the lambda of generalised advantage estimation.
    clip : float
        How far the policy's ratio may leave 1.
    entropy, value : float
        Weights of the entropy bonus and of the critic's loss.
    learning_rate, adam_eps, grad_clip : float
        Adam's step size and epsilon, and the global norm gradients are scaled down to.
    cost : float
        Charge for a change of the position by 1, in standard deviations of a bar's return.
    seed : int
        Of the weights, the actions and the minibatches.
    """

    input_dim: int | None = None
    hidden: tuple[int, ...] = (512, 512, 256)
    n_steps: int = 2_048
    minibatch: int = 64
    epochs: int = 10
    table_bars: int = 256
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    learning_rate: float = 3e-4
    adam_eps: float = 1e-5
    grad_clip: float = 0.5
    cost: float = 0.1
    seed: int = 1

    def check(self, data: MarketData) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with ``data``."""
        m = Mismatches("ppo")
        m.hidden(self.hidden)
        m.sizes(epochs=self.epochs, table_bars=self.table_bars)
        if m.sizes(n_steps=self.n_steps, minibatch=self.minibatch):
            m.multiple("n_steps", self.n_steps, "minibatch", self.minibatch)
        if self.minibatch == 1:
            m.add("minibatch 1: an advantage cannot be normalised alone, use 2 or more")
        m.positive(
            learning_rate=self.learning_rate,
            adam_eps=self.adam_eps,
            grad_clip=self.grad_clip,
            clip=self.clip,
        )
        m.not_negative(cost=self.cost, entropy=self.entropy, value=self.value)
        m.share(gamma=self.gamma, gae_lambda=self.gae_lambda)
        # A rollout reads one bar more than it has steps, to value its end.
        m.series(data, self.n_steps + 2, f"n_steps {self.n_steps} + 2")
        check_observation(m, self.input_dim, data)
        m.raise_any()
