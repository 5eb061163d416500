"""The memory account of DQN; read beside :mod:`foxbench.models.dqn`.

Shape letters: B batch, F features, H units of a hidden layer.
"""

from __future__ import annotations

from foxbench.models.account.parts import BYTE, F32, I64, Account, Memory, Tensor
from foxbench.models.account.tape import Grads, Ops, Tape, adam
from foxbench.models.account.trading import N_ACTIONS, bars_bytes, mlp_params_bytes, observe
from foxbench.models.configs.dqn import DqnConfig
from foxbench.models.data import MarketData

#: Bytes of a stored transition: bar int32, position and action int8, reward float32.
TRANSITION = 10


def account(cfg: DqnConfig, data: MarketData, device: str) -> Account:
    """The account of :class:`foxbench.models.dqn.DqnTrainer`."""
    n_features = data.first.n_features
    width = n_features + 1
    params = mlp_params_bytes((width, *cfg.hidden, N_ACTIONS))
    # The target network, two blocks of observations, the replay, and the series' own.
    blocks = F32 * (2 * cfg.batch + 1) * width
    buffers = params + blocks + TRANSITION * cfg.capacity + bars_bytes(data)
    tape = Tape(Memory(device))
    _step(tape, cfg, n_features)
    return tape.account(params, buffers, F32 * data.first.n_bars * n_features)


def _step(tape: Tape, cfg: DqnConfig, n_features: int) -> None:
    memory, new, batch = tape.memory, tape.memory.new, cfg.batch
    widths = (*cfg.hidden, N_ACTIONS)
    with memory.during("sampling", "batch"):
        pick = new(batch, itemsize=I64)
        t = new(batch, itemsize=F32)  # int32
        action = new(batch, itemsize=BYTE)
        action = new(batch, itemsize=I64)
        position = new(batch, itemsize=BYTE)
        observe(memory, batch, n_features)
        del position
        after = new(batch, itemsize=F32), new(batch, itemsize=I64)  # t + 1, action - 1
        observe(memory, batch, n_features)
        del after
    with memory.during("forward of target"):
        future = Ops(memory, None).mlp("target", memory.standing(batch, n_features + 1), widths)
        future = new(batch)  # largest of each row
        reward = new(batch)
        future_part = new(batch)
        unfinished = new(batch, itemsize=BYTE)
        masked = new(batch)
        del future_part, unfinished
        goal = new(batch)
        del masked, reward
    with memory.during("forward of online"):
        block = memory.standing(batch + 1, n_features + 1)
        q = Ops(memory, tape).mlp("online", block, widths)  # (B+1,3)
        loss = _loss(tape, q, goal, action)
    tape.backward(loss)
    adam(memory, tape)
    del pick, t, future


def _loss(tape: Tape, q: Tensor, goal: Tensor, action: Tensor) -> Tensor:
    """Huber loss of the values of the actions taken."""
    memory, new = tape.memory, tape.memory.new
    n_rows = q.shape[0]
    batch = n_rows - 1

    def back(dy: Tensor, chosen: Tensor, goal: Tensor, action: Tensor) -> Grads:
        d_chosen = new(batch)
        d_chosen = new(batch, 1)  # of the column cut out
        zeros = new(batch, N_ACTIONS)
        d_rows = new(batch, N_ACTIONS)  # scattered to the actions
        del d_chosen, zeros
        d_q = new(n_rows, N_ACTIONS)
        del d_rows
        return [d_q], {}

    with memory.during("loss"):
        chosen = new(batch, 1)
        loss = new()
        tape.record([loss], [q], [chosen, goal, action], back)
    return loss
