"""The environment in which DQN and PPO trade: one position in {-1, 0, 1}, a cost of changing it.

The market is exogenous: what the agent does moves its position and never the next bar.  So the
consequences of all three positions at a bar can be tabulated in one batched pass, and an
episode is a walk through tables instead of a batch-1 inference a bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foxbench.models.common import Bars

#: Actions are short, flat, long; action a takes position a - 1.
N_ACTIONS = 3


def observe(bars: Bars, t: Tensor, position: Tensor, out: Tensor) -> Tensor:
    """Fill ``out`` with [scaled features of bar t, position].

    Parameters
    ----------
    t : int32 or int64 (n,)
    position : (n,)
        Before acting at bar t.
    out : float32 (n, n_features + 1)
    """
    bars.rows(t, out=out[:, :-1])
    out[:, -1] = position
    return out


def reward(after: Tensor, before: Tensor, r: Tensor, cost: float) -> Tensor:
    """``after * r - cost * |after - before|``, float32, in standard deviations of a return.

    Parameters
    ----------
    after, before : int8 (n,)
        Positions in {-1, 0, 1} after and before acting.
    r : float32 (n,)
        Scaled return of the bar that follows.
    cost : float
        Of changing the position by 1.
    """
    return after * r - cost * (after - before).abs()


def tabulate(
    bars: Bars, begin: int, end: int, chunk: int, of: Callable[[Tensor], Tensor]
) -> Tensor:
    """Values of a network at bars ``begin`` to ``end - 1`` for all three positions.

    Parameters
    ----------
    chunk : int
        Bars of one forward pass, of ``3 * chunk`` rows.
    of : callable
        Maps observations (n, n_features + 1) to values (n, k).

    Returns
    -------
    float32 (end - begin, 3, k), on the CPU
    """
    with torch.no_grad():
        parts = [of(block).view(n, N_ACTIONS, -1) for n, block in _blocks(bars, begin, end, chunk)]
        return torch.cat(parts).cpu()


def _blocks(bars: Bars, begin: int, end: int, chunk: int) -> Iterator[tuple[int, Tensor]]:
    """Observations (3n, n_features + 1) of ``n`` bars a block, rows ordered (bar, position)."""
    positions = torch.arange(N_ACTIONS, device=bars.x.device) - 1.0
    for first in range(begin, end, chunk):
        raw = bars.x[first : min(first + chunk, end)]  # (n, F), a view
        n = len(raw)
        block = raw.new_empty(n, N_ACTIONS, bars.n_features + 1)
        bars.scale(raw[:, None, :].expand(n, N_ACTIONS, -1), out=block[..., :-1])
        block[..., -1] = positions
        yield n, block.view(n * N_ACTIONS, -1)


def walk(choice: NDArray[np.integer], position: int) -> NDArray[np.int8]:
    """Follow a table of actions through the bars.

    Parameters
    ----------
    choice : int (n, 3)
        Action at each bar for each position (-1, 0, 1) held there.
    position : int
        Held at the first bar.

    Returns
    -------
    int8 (n + 1,)
        Position before each bar's action, and after the last.
    """
    rows: Sequence[Sequence[int]] = choice.tolist()
    path = [position]
    for row in rows:
        position = row[position + 1] - 1
        path.append(position)
    return np.array(path, dtype=np.int8)
