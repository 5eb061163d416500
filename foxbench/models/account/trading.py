"""What the accounts of DQN and PPO share: observations, the two kinds of bytes of a series."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from foxbench.models.account.parts import F32, Memory, Tensor, floats
from foxbench.models.data import MarketData

N_ACTIONS = 3


def mlp_params_bytes(widths: Sequence[int]) -> int:
    """Weights and biases of a network with these widths, input first."""
    return floats(shape for i, o in itertools.pairwise(widths) for shape in ((o, i), (o,)))


def bars_bytes(data: MarketData) -> int:
    """What :class:`foxbench.models.common.Bars` makes of the first series: mean, 1/sd, returns."""
    s = data.first
    return F32 * (2 * s.n_features + s.n_bars)


def observe(memory: Memory, n: int, n_features: int) -> None:
    """Gather ``n`` rows (n,F) and scale them into a block that stands."""
    rows: Tensor = memory.new(n, n_features)
    del rows
