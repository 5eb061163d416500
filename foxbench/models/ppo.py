"""Proximal policy optimisation of a position (Schulman et al. 2017, arXiv:1707.06347).

The market does not answer, so the rollout needs no batch-1 inference: log pi and V of all three
positions at every bar come from batched passes into tables, and the rollout is a walk through
them, with the same distribution as stepping.  A step is one iteration: rollout, advantages,
epochs of minibatches.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from foxbench.models.adam import Adam
from foxbench.models.common import Bars, Mlp, component_bytes, seeded
from foxbench.models.configs.ppo import PpoConfig
from foxbench.models.data import MarketData
from foxbench.models.live import greedy
from foxbench.models.trading import N_ACTIONS, observe, reward, tabulate, walk


def actor_and_critic(n_features: int, cfg: PpoConfig) -> tuple[Mlp, Mlp]:
    """Observation (n, n_features + 1) -> the actions' logits (n, 3), and its value (n, 1)."""
    actor = Mlp((n_features + 1, *cfg.hidden, N_ACTIONS), torch.tanh_)
    critic = Mlp((n_features + 1, *cfg.hidden, 1), torch.tanh_)
    orthogonal(actor, last_gain=0.01)  # nearly uniform actions at first
    orthogonal(critic, last_gain=1.0)
    return actor, critic


class PpoTrainer:
    """PPO on the first series of ``data``.

    Parameters
    ----------
    data : MarketData
    cfg : PpoConfig
    device : str

    Raises
    ------
    ConfigError
        When the config does not fit the data.
    """

    def __init__(self, data: MarketData, cfg: PpoConfig, device: str = "cpu") -> None:
        cfg.check(data)
        self.cfg = cfg
        self.device = device
        self.rng = seeded(cfg.seed)
        self.bars = Bars(data.first, device)
        width = self.bars.n_features + 1
        self.actor, self.critic = actor_and_critic(self.bars.n_features, cfg)
        self.actor.to(device)
        self.critic.to(device)
        self.params = [*self.actor.parameters(), *self.critic.parameters()]
        self.adam = Adam(self.params, cfg.learning_rate, grad_clip=cfg.grad_clip, eps=cfg.adam_eps)
        # The rollout, 14 B a step; observations are gathered anew for each minibatch.
        n = cfg.n_steps
        self.position = torch.zeros(n, dtype=torch.int8, device=device)
        self.action = torch.zeros(n, dtype=torch.int8, device=device)
        self.log_prob = torch.zeros(n, device=device)
        self.advantage = torch.zeros(n, device=device)
        self.goal = torch.zeros(n, device=device)  # what the critic is to say
        self.block = torch.zeros(cfg.minibatch, width, device=device)
        self.begin = 0  # bar the rollout begins at
        self.held = 0  # position held there
        self._restart()

    def step(self) -> float:
        """One iteration; returns the mean loss of its minibatches."""
        reached = self.rollout()
        total = torch.zeros((), device=self.device)
        n, size = self.cfg.n_steps, self.cfg.minibatch
        for _ in range(self.cfg.epochs):
            order = torch.from_numpy(self.rng.permutation(n)).to(self.device)
            for pick in torch.split(order, size):  # (M,)
                total += self._update(pick)
        self._advance(reached)
        return total.item() / (self.cfg.epochs * (n // size))

    def rollout(self) -> int:
        """Fill the buffer with ``n_steps`` transitions; returns the position they end in."""
        cfg, n = self.cfg, self.cfg.n_steps
        # 1. Tables over the bars and one more, whose value stands for all that follows.
        log_pi, value = self.tables(self.begin, self.begin + n + 1)  # (n + 1, 3, 3), (n + 1, 3)
        # 2. The action at each bar for each position held there, from one uniform a bar.
        cdf = log_pi[:n].exp().cumsum(dim=2).numpy()  # (n, 3, 3)
        uniform = self.rng.random(n, dtype=np.float32)
        choice = (uniform[:, None, None] > cdf[..., :-1]).sum(axis=2)  # (n, 3)
        # 3. Walk.
        path = torch.from_numpy(walk(choice, self.held))  # (n + 1,)
        before, after = path[:-1], path[1:]
        r = self.bars.r[self.begin : self.begin + n].cpu()
        gain = reward(after, before, r, cfg.cost)  # (n,)
        # 4. Advantages of what was done.
        row = torch.arange(n)
        values = value[torch.arange(n + 1), path.long() + 1]  # (n + 1,)
        advantage = gae(gain.numpy(), values.numpy(), cfg.gamma, cfg.gae_lambda)
        self.position.copy_(before)
        self.action.copy_(after + 1)
        self.log_prob.copy_(log_pi[row, before.long() + 1, after.long() + 1])
        self.advantage.copy_(torch.from_numpy(advantage))
        self.goal.copy_(self.advantage.cpu() + values[:n])
        return int(path[-1])

    def tables(self, begin: int, end: int) -> tuple[Tensor, Tensor]:
        """Log pi (n, 3, 3) and V (n, 3) of bars ``begin`` to ``end - 1`` for each position."""

        def both(block: Tensor) -> Tensor:
            log_pi = functional.log_softmax(self.actor(block), dim=1)
            return torch.cat([log_pi, self.critic(block)], dim=1)

        table = tabulate(self.bars, begin, end, self.cfg.table_bars, both)  # (n, 3, 4)
        return table[..., :N_ACTIONS], table[..., N_ACTIONS]

    def _update(self, pick: Tensor) -> Tensor:
        """One optimizer step on the transitions ``pick`` (M,); returns the loss."""
        cfg = self.cfg
        obs = observe(self.bars, self.begin + pick, self.position[pick], out=self.block)
        log_pi = functional.log_softmax(self.actor(obs), dim=1)  # (M, 3)
        value = self.critic(obs)[:, 0]  # (M,)
        # 1. The clipped surrogate, on advantages normalised within the minibatch.
        advantage = self.advantage[pick]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        log_prob = log_pi.gather(1, self.action[pick].long()[:, None])[:, 0]
        ratio = (log_prob - self.log_prob[pick]).exp()
        clipped = ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
        policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
        # 2. The critic, and a bonus for staying undecided.
        value_loss = functional.mse_loss(value, self.goal[pick])
        entropy = -(log_pi.exp() * log_pi).sum(dim=1).mean()
        loss = policy_loss + cfg.value * value_loss - cfg.entropy * entropy
        # 3. Descend.
        torch.autograd.backward(loss)
        self.adam.step()
        return loss.detach()

    def _advance(self, reached: int) -> None:
        """The next rollout begins where this one ended, or a new pass over the bars does."""
        self.begin += self.cfg.n_steps
        self.held = reached
        if self.begin + self.cfg.n_steps > self.bars.n_train - 1:
            self._restart()

    def _restart(self) -> None:
        """Begin a pass flat, at an offset that lets no bar at either end always be left out."""
        spare = (self.bars.n_train - 1) % self.cfg.n_steps
        self.begin = int(self.rng.integers(spare + 1))
        self.held = 0

    def bytes(self) -> dict[str, int]:
        """Bytes by component."""
        return component_bytes(
            params=self.params,
            optimizer=self.adam.tensors(),
            buffers=[
                self.position,
                self.action,
                self.log_prob,
                self.advantage,
                self.goal,
                self.block,
                *self.bars.tensors(),
            ],
            data=[self.bars.x],
        )

    def evaluate(self) -> dict[str, float]:
        """Trade the held-out bars by the likeliest actions, from a flat position.

        Returns
        -------
        dict
            ``loss``: mean squared error of the critic against the lambda-returns along the way.
            ``reward_per_bar``: mean reward, costs paid, in standard deviations of a return.
        """
        begin, end = self.bars.n_train, self.bars.n
        log_pi, value = self.tables(begin, end)
        # The last bar has no return: it only values the end.
        path = torch.from_numpy(walk(log_pi[:-1].argmax(dim=2).numpy(), 0))  # (n,)
        gain = reward(path[1:], path[:-1], self.bars.r[begin : end - 1].cpu(), self.cfg.cost)
        values = value[torch.arange(end - begin), path.long() + 1].numpy()
        advantage = gae(gain.numpy(), values, self.cfg.gamma, self.cfg.gae_lambda)
        # goal - value is the advantage.
        return {
            "loss": float(np.square(advantage).mean()),
            "reward_per_bar": gain.mean().item(),
        }

    @torch.no_grad()
    def infer(self) -> int:
        """The likeliest position (-1, 0, 1) for the current state: a forward pass of one row."""
        t = torch.tensor([self.begin], device=self.device)
        obs = observe(self.bars, t, t.new_tensor([self.held]), out=self.block[:1])
        return greedy(self.actor, obs)

    def steps_per_epoch(self) -> int:
        """A step is a rollout of ``n_steps`` bars."""
        return max(1, self.bars.n_train // self.cfg.n_steps)


def gae(
    gain: NDArray[np.float32], value: NDArray[np.float32], gamma: float, lam: float
) -> NDArray[np.float32]:
    """Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438, eq. 16).

    Parameters
    ----------
    gain : float32 (n,)
        Rewards.
    value : float32 (n + 1,)
        Of the states before each action, and of the last one reached.
    gamma, lam : float
        Discount, and lambda.

    Returns
    -------
    float32 (n,)
        ``A[t] = sum_l (gamma * lam)^l * (gain[t+l] + gamma * value[t+l+1] - value[t+l])``.
    """
    delta: list[float] = (gain + gamma * value[1:] - value[:-1]).tolist()
    advantage = np.empty(len(delta), dtype=np.float32)
    running = 0.0
    for i in range(len(delta) - 1, -1, -1):
        running = delta[i] + gamma * lam * running
        advantage[i] = running
    return advantage


def orthogonal(net: Mlp, last_gain: float) -> None:
    """Orthogonal weights, gain sqrt(2) in hidden layers, and no biases (Huang et al. 2022)."""
    *hidden, last = net.layers
    for layer in hidden:
        nn.init.orthogonal_(layer.get_parameter("weight"), 2**0.5)
        nn.init.zeros_(layer.get_parameter("bias"))
    nn.init.orthogonal_(last.get_parameter("weight"), last_gain)
    nn.init.zeros_(last.get_parameter("bias"))
