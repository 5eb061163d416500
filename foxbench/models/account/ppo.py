"""The memory account of PPO; read beside :mod:`foxbench.models.ppo`.

Shape letters: n steps of a rollout, M transitions of a minibatch, F features.
"""

from __future__ import annotations

from foxbench.models.account.parts import BYTE, F32, I64, Account, Memory, Tensor
from foxbench.models.account.tape import Grads, Ops, Tape, adam
from foxbench.models.account.trading import N_ACTIONS, bars_bytes, mlp_params_bytes, observe
from foxbench.models.configs.ppo import PpoConfig
from foxbench.models.data import MarketData

#: Bytes of a step of the rollout: position and action int8; log pi, advantage and goal float32.
TRANSITION = 14

#: CPython's objects: a pointer, a float, and a list of three with its items.
POINTER = 8
FLOAT_BYTES = 24
ROW_BYTES = 96


def account(cfg: PpoConfig, data: MarketData, device: str) -> Account:
    """The account of :class:`foxbench.models.ppo.PpoTrainer`."""
    n_features = data.first.n_features
    width = n_features + 1
    params = mlp_params_bytes((width, *cfg.hidden, N_ACTIONS))
    params += mlp_params_bytes((width, *cfg.hidden, 1))
    buffers = TRANSITION * cfg.n_steps + F32 * cfg.minibatch * width + bars_bytes(data)
    tape = Tape(Memory(device))
    _rollout(tape.memory, cfg, n_features)
    # All minibatches are alike; from the first on, a second one finds nothing left of it.
    _update(tape, cfg, n_features)
    return tape.account(params, buffers, F32 * data.first.n_bars * n_features)


def _rollout(memory: Memory, cfg: PpoConfig, n_features: int) -> None:
    new, beside, n = memory.new, memory.beside, cfg.n_steps
    table = _tables(memory, cfg, n_features)  # (n+1,3,4)
    with memory.during("rollout"):
        exp = new(n, N_ACTIONS, N_ACTIONS)
        cdf = new(n, N_ACTIONS, N_ACTIONS)
        del exp
        uniform, choice = beside("rollout", F32 * n), beside("rollout", I64 * N_ACTIONS * n)
        rows = beside("rollout as Python lists", n * (ROW_BYTES + POINTER))
        path = new(n + 1, itemsize=BYTE)
        del rows
        earned, change, cost = new(n), new(n, itemsize=BYTE), new(n)
        del change
        gain = new(n)
        del earned, cost
        row = new(n, itemsize=I64)
        values = _picked(memory, n + 1)
        log_prob = _picked(memory, n)
        del log_prob
        delta = beside("rollout as Python lists", n * (FLOAT_BYTES + POINTER))
        advantage = beside("rollout", F32 * n)
        del delta
        goal = new(n)
    del table, cdf, uniform, choice, path, gain, row, values, advantage, goal


def _picked(memory: Memory, n: int) -> Tensor:
    """``table[row, (before or after).long() + 1]``; the rows are there already."""
    new = memory.new
    before, plain = new(n, itemsize=I64), new(n, itemsize=I64)
    column = new(n, itemsize=I64)
    del plain
    picked = new(n)
    del before, column
    return picked


def _tables(memory: Memory, cfg: PpoConfig, n_features: int) -> Tensor:
    """Both networks over all bars, ``table_bars`` at a time: (n+1,3,4)."""
    new, ops, n_bars = memory.new, Ops(memory, None), cfg.n_steps + 1
    with memory.during("tables"):
        positions = new(N_ACTIONS)
        chunks = []
        block = new(0)
        for first in range(0, n_bars, cfg.table_bars):
            bars = min(cfg.table_bars, n_bars - first)
            rows = N_ACTIONS * bars
            block = new(rows, n_features + 1)  # while the last one still stands
            log_pi = ops.mlp("actor", block, (*cfg.hidden, N_ACTIONS))
            log_pi = new(rows, N_ACTIONS)
            value = ops.mlp("critic", block, (*cfg.hidden, 1))
            chunks.append(new(rows, N_ACTIONS + 1))
            del log_pi, value
        del block, positions
        return new(n_bars, N_ACTIONS, N_ACTIONS + 1)


def _update(tape: Tape, cfg: PpoConfig, n_features: int) -> None:
    memory, new, size = tape.memory, tape.memory.new, cfg.minibatch
    ops = Ops(memory, tape)
    with memory.during("minibatch"):
        total = new()
        order = new(cfg.n_steps, itemsize=I64)
        rows = new(size, itemsize=I64), new(size, itemsize=BYTE)  # bars, positions
        observe(memory, size, n_features)
        del rows
    block = memory.standing(size, n_features + 1)
    with memory.during("forward of actor"):
        logits = ops.mlp("actor", block, (*cfg.hidden, N_ACTIONS))
        log_pi = ops.elementwise([logits], [])  # log_softmax, which keeps its result
        tape.nodes[-1].kept = (log_pi.view(),)
        del logits
    with memory.during("forward of critic"):
        value = ops.mlp("critic", block, (*cfg.hidden, 1))
    with memory.during("loss"):
        loss, held = _loss(tape, log_pi, value)
    tape.backward(loss)
    adam(memory, tape)
    del total, order, held


def _loss(tape: Tape, log_pi: Tensor, value: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The clipped surrogate, the critic's error and the entropy of one minibatch.

    One node for some twenty small ones: M and (M,3) floats beside the networks' hundreds.  Also
    returns what the minibatch holds by name until its end.
    """
    new, m = tape.memory.new, log_pi.shape[0]
    advantage = new(m)
    action = new(m, itemsize=I64)
    log_prob = new(m, 1)
    ratio, clipped = new(m), new(m)
    products = new(m), new(m)
    smaller = new(m)
    del smaller
    goal = new(m)
    squares = new(m)  # mse_loss leaves its mean in the first of them
    pi = new(m, N_ACTIONS)
    weighed = new(m, N_ACTIONS)
    sums = new(m)
    del weighed, sums
    losses = [new() for _ in range(2)]  # policy, entropy

    def back(dy: Tensor, *_kept: Tensor) -> Grads:
        d_log_pi = new(m, N_ACTIONS)  # by the entropy
        d_pi = new(m, N_ACTIONS)
        del d_pi
        d_value = new(m, 1)
        d_chosen = new(m), new(m)
        del d_chosen
        zeros, scattered = new(m, N_ACTIONS), new(m, N_ACTIONS)  # by the surrogate
        del zeros, scattered
        return [d_log_pi, d_value], {}

    kept = [log_pi, value, advantage, action, ratio, clipped, *products, goal, pi]
    loss = new()
    tape.record([loss], [log_pi, value], kept, back)
    return loss, [advantage, log_prob, ratio, clipped, squares, *losses]
