"""Deep Q-learning of a position (Mnih et al., arXiv:1312.5602 and Nature 518, 2015).

A state is a bar and the position held there; an action takes a new position until the next bar.
The market does not answer, so the next state and the episode's end follow from (bar, action),
and a stored transition is 10 bytes instead of two observations.  A step is one update from 64
replayed transitions and one transition of the epsilon-greedy policy.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.nn import functional

from foxbench.models.adam import Adam
from foxbench.models.common import Bars, Mlp, component_bytes, seeded
from foxbench.models.configs.dqn import DqnConfig
from foxbench.models.data import MarketData
from foxbench.models.live import greedy
from foxbench.models.trading import N_ACTIONS, observe, reward, tabulate, walk

#: Bars of one forward pass of an evaluation.
EVAL_BARS = 256


class Replay:
    """A ring of transitions: bar int32, position and action int8, reward float32, 10 B each.

    Parameters
    ----------
    capacity : int
    device : str
    """

    def __init__(self, capacity: int, device: str) -> None:
        self.t = torch.zeros(capacity, dtype=torch.int32, device=device)
        self.position = torch.zeros(capacity, dtype=torch.int8, device=device)
        self.action = torch.zeros(capacity, dtype=torch.int8, device=device)
        self.reward = torch.zeros(capacity, device=device)
        self.capacity = capacity
        self.filled = 0
        self.head = 0  # where the next transition goes

    def add(self, t: int, position: int, action: int, reward: float) -> None:
        """Store one transition over the oldest."""
        i = self.head
        self.t[i], self.position[i], self.action[i], self.reward[i] = t, position, action, reward
        self.head = (i + 1) % self.capacity
        self.filled = min(self.filled + 1, self.capacity)

    def tensors(self) -> list[Tensor]:
        """The four columns."""
        return [self.t, self.position, self.action, self.reward]


def q_network(n_features: int, cfg: DqnConfig) -> Mlp:
    """Observation (n, n_features + 1) -> the actions' values (n, 3)."""
    return Mlp((n_features + 1, *cfg.hidden, N_ACTIONS), torch.relu_)


class DqnTrainer:
    """DQN on the first series of ``data``.

    Parameters
    ----------
    data : MarketData
    cfg : DqnConfig
    device : str

    Raises
    ------
    ConfigError
        When the config does not fit the data.
    """

    def __init__(self, data: MarketData, cfg: DqnConfig, device: str = "cpu") -> None:
        cfg.check(data)
        self.cfg = cfg
        self.device = device
        self.rng = seeded(cfg.seed)
        self.bars = Bars(data.first, device)
        self.last = self.bars.n_train - 2  # the last bar whose return lies in the training part
        width = self.bars.n_features + 1
        self.online = q_network(self.bars.n_features, cfg).to(device)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.adam = Adam(self.online.parameters(), cfg.learning_rate, grad_clip=cfg.grad_clip)
        # One row more than the batch: the observation the policy acts on in the same pass.
        self.block = torch.zeros(cfg.batch + 1, width, device=device)
        self.next_block = torch.zeros(cfg.batch, width, device=device)
        self.replay = Replay(cfg.capacity, device)
        self.n_steps = 0
        self.t = 0
        self.position = 0
        self._prefill()

    def _prefill(self) -> None:
        """``cfg.warmup`` transitions of a policy that acts at random, in one go."""
        n, replay = self.cfg.warmup, self.replay
        t = torch.arange(n, device=self.device) % (self.last + 1)
        action = torch.from_numpy(self.rng.integers(N_ACTIONS, size=n)).to(self.device)
        # Every action becomes the next bar's position; an episode begins flat.
        position = torch.cat([action.new_zeros(1), action[:-1] - 1]) * (t > 0)
        replay.t[:n], replay.action[:n], replay.position[:n] = t, action, position
        replay.reward[:n] = reward(action - 1, position, self.bars.r[t], self.cfg.cost)
        replay.filled = n
        replay.head = n % self.cfg.capacity

    def step(self) -> float:
        """One update and one transition; returns the Huber loss of the update."""
        cfg, replay, batch = self.cfg, self.replay, self.cfg.batch
        # 1. Sample transitions.
        pick = torch.from_numpy(self.rng.integers(replay.filled, size=batch)).to(self.device)
        t, action = replay.t[pick], replay.action[pick].long()  # (B,), (B,)
        # 2. Observations, and the ones that followed: bar t + 1 with the position taken.
        observe(self.bars, t, replay.position[pick], out=self.block[:-1])  # (B, F + 1)
        self._observe_now(out=self.block[-1:])  # (1, F + 1)
        observe(self.bars, t + 1, action - 1, out=self.next_block)  # (B, F + 1)
        # 3. Targets: reward + gamma * max Q'(next), nothing after an episode's last bar.
        with torch.no_grad():
            future = self.target(self.next_block).amax(dim=1)  # (B,)
            goal = replay.reward[pick] + cfg.gamma * future * (t < self.last)
        # 4. Values of the sampled actions; the last row chooses the action of step 6.
        q = self.online(self.block)  # (B + 1, 3)
        greedy = q[batch].detach()
        loss = functional.huber_loss(q[:batch].gather(1, action[:, None])[:, 0], goal)
        # 5. Descend.
        torch.autograd.backward(loss)
        self.adam.step()
        # 6. Act.
        self._act(greedy)
        # 7. Let the target network follow.
        self.n_steps += 1
        if self.n_steps % cfg.target_sync == 0:
            self._sync()
        return loss.item()

    def _observe_now(self, out: Tensor) -> Tensor:
        """The observation of the current state, in ``out`` (1, F + 1)."""
        self.bars.scale(self.bars.x[self.t], out=out[0, :-1])
        out[0, -1] = self.position
        return out

    def _act(self, q: Tensor) -> None:
        """One epsilon-greedy transition into the replay; ``q`` (3,) values the actions."""
        if self.rng.random() < self.epsilon():
            action = int(self.rng.integers(N_ACTIONS))
        else:
            action = int(q.argmax())
        after, r = action - 1, float(self.bars.r[self.t])
        gain = after * r - self.cfg.cost * abs(after - self.position)
        self.replay.add(self.t, self.position, action, gain)
        self.t, self.position = (0, 0) if self.t == self.last else (self.t + 1, after)

    def epsilon(self) -> float:
        """Share of random actions now: falls linearly, then stays."""
        done = min(1.0, self.n_steps / self.cfg.epsilon_steps)
        return self.cfg.epsilon_start + done * (self.cfg.epsilon_end - self.cfg.epsilon_start)

    @torch.no_grad()
    def _sync(self) -> None:
        """Copy the online weights into the target network, in place."""
        for to, of in zip(self.target.parameters(), self.online.parameters(), strict=True):
            to.copy_(of)

    def bytes(self) -> dict[str, int]:
        """Bytes by component; the target network counts among the buffers."""
        return component_bytes(
            params=self.online.parameters(),
            optimizer=self.adam.tensors(),
            buffers=[
                *self.target.parameters(),
                self.block,
                self.next_block,
                *self.replay.tensors(),
                *self.bars.tensors(),
            ],
            data=[self.bars.x],
        )

    def evaluate(self) -> dict[str, float]:
        """Trade the held-out bars greedily, from a flat position.

        Returns
        -------
        dict
            ``loss``: mean Huber loss of the values along the way, against the target network.
            ``reward_per_bar``: mean reward, costs paid, in standard deviations of a return.
        """
        begin, end = self.bars.n_train, self.bars.n
        q = tabulate(self.bars, begin, end, EVAL_BARS, self.online)  # (n, 3, 3)
        future = tabulate(self.bars, begin, end, EVAL_BARS, self.target).amax(dim=2)  # (n, 3)
        # The last bar has no return: it only follows the one before.
        action = q[:-1].argmax(dim=2)  # (n - 1, 3)
        path = torch.from_numpy(walk(action.numpy(), 0))
        before, after = path[:-1], path[1:]
        gain = reward(after, before, self.bars.r[begin : end - 1].cpu(), self.cfg.cost)
        row = torch.arange(len(gain))
        value = q[row, before.long() + 1, after.long() + 1]
        goal = gain + self.cfg.gamma * future[row + 1, after.long() + 1] * (row < len(row) - 1)
        loss = functional.huber_loss(value, goal)
        return {"loss": loss.item(), "reward_per_bar": gain.mean().item()}

    @torch.no_grad()
    def infer(self) -> int:
        """The greedy position (-1, 0, 1) for the current state: a forward pass of one row."""
        now = self._observe_now(out=self.block[-1:])
        return greedy(self.online, now)

    def steps_per_epoch(self) -> int:
        """The policy moves one bar a step."""
        return self.bars.n_train
