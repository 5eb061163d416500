"""Settings of the DQN trainer (Mnih et al. 2015, arXiv:1312.5602)."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.models.configs.checks import Mismatches
from foxbench.models.data import MarketData


@dataclass(frozen=True)
class DqnConfig:
    """Settings of :class:`foxbench.models.dqn.DqnTrainer`.

    Attributes
    ----------
    input_dim : int or None
        Width of an observation: features + the position.  None derives it.
    hidden : tuple of int
        Units of the hidden ReLU layers.
    batch : int
        Transitions sampled for one step.
    capacity : int
        Transitions the replay holds; the oldest is overwritten.
    warmup : int
        Random transitions put into the replay in set-up.
    gamma : float
        Discount of one bar.
    learning_rate, grad_clip : float
        Adam's step size, and the global norm gradients are scaled down to.
    cost : float
        Charge for a change of the position by 1, in standard deviations of a bar's return.
    epsilon_start, epsilon_end : float
        Share of random actions, falling linearly ...
    epsilon_steps : int
        ... over this many steps.
    target_sync : int
        Steps between two copies of the online network into the target network.
    seed : int
        Of the weights, the replay's samples and the random actions.
    """

    input_dim: int | None = None
    hidden: tuple[int, ...] = (512, 512, 256)
    batch: int = 64
    capacity: int = 100_000
    warmup: int = 100_000
    gamma: float = 0.99
    learning_rate: float = 1e-4
    grad_clip: float = 10.0
    cost: float = 0.1
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_steps: int = 10_000
    target_sync: int = 1_000
    seed: int = 1

    def check(self, data: MarketData) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with ``data``."""
        m = Mismatches("dqn")
        m.hidden(self.hidden)
        m.sizes(
            batch=self.batch,
            capacity=self.capacity,
            warmup=self.warmup,
            epsilon_steps=self.epsilon_steps,
            target_sync=self.target_sync,
        )
        m.positive(learning_rate=self.learning_rate, grad_clip=self.grad_clip)
        m.not_negative(cost=self.cost)
        m.share(gamma=self.gamma, epsilon_start=self.epsilon_start, epsilon_end=self.epsilon_end)
        if self.batch > self.warmup:
            m.add(f"batch {self.batch} > warmup {self.warmup}: the first step has too few")
        if self.warmup > self.capacity:
            m.add(f"warmup {self.warmup} > capacity {self.capacity}: the replay is too small")
        m.series(data, 2, "one transition")
        check_observation(m, self.input_dim, data)
        m.raise_any()


def check_observation(m: Mismatches, input_dim: int | None, data: MarketData) -> None:
    """Compare an agent's ``input_dim`` with features + 1 (the position)."""
    if input_dim is None or not data.series:
        return
    n = data.first.n_features
    if input_dim != n + 1:
        m.add(f"input_dim {input_dim} != features {n} + position 1 = {n + 1}")
