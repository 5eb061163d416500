"""MAMBA-2 on bars: predict the next return at every position of a window.

Dao & Gu 2024, "Transformers are SSMs" (arXiv:2405.21060).  Four residual blocks, whose arithmetic
is in ``mamba2_block.py`` and, the sequence mixing itself, in ``ssd.py``.  One step draws 16 windows
of 256 bars, works through them in micro-batches whose gradients add up to the full batch's, and
lets Adam update once.

Shape letters: b windows, l bars of a window, f features, d model width, i inner width, h heads.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from foxbench.models.adam import Adam
from foxbench.models.common import Bars, component_bytes, seeded
from foxbench.models.configs import Mamba2Config
from foxbench.models.data import MarketData
from foxbench.models.live import ReturnPolicy
from foxbench.models.mamba2_block import Weights, block, rms_norm

#: Step sizes dt that heads start from, log-uniform, as in the paper's code.
DT_RANGE = (1e-3, 0.1)
#: Range of -A that heads start from.
A_RANGE = (1.0, 16.0)


class Block(nn.Module):
    """The parameters of one block, initialised; ``mamba2_block.py`` computes with them."""

    def __init__(self, cfg: Mamba2Config) -> None:
        super().__init__()
        d, i, n, h = cfg.d_model, cfg.d_inner, cfg.d_state, cfg.heads
        self.chunk = cfg.chunk
        self.norm = nn.Parameter(torch.ones(d))
        self.in_proj = _uniform(2 * i + 2 * n + h, d, fan_in=d)
        self.conv = _uniform(cfg.d_conv, i + 2 * n, fan_in=cfg.d_conv)
        self.conv_bias = _uniform(i + 2 * n, fan_in=cfg.d_conv)
        dt = torch.empty(h).uniform_(*map(math.log, DT_RANGE)).exp_()
        self.dt_bias = nn.Parameter(dt + (-torch.expm1(-dt)).log())  # softplus of this is dt
        self.a_log = nn.Parameter(torch.empty(h).uniform_(*A_RANGE).log_())
        self.skip = nn.Parameter(torch.ones(h))
        self.out_norm = nn.Parameter(torch.ones(i))
        self.out_proj = _uniform(d, i, fan_in=i)

    def forward(self, x: Tensor) -> Tensor:
        """(b,l,d) -> (b,l,d), causal."""
        return block(x, Weights(*[getattr(self, f) for f in Weights._fields]), self.chunk)


def _uniform(*shape: int, fan_in: int) -> nn.Parameter:
    """As nn.Linear and nn.Conv1d draw their weights."""
    bound = 1 / math.sqrt(fan_in)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


class Mamba2(nn.Module):
    """Features of a window -> one forecast a bar, causal.

    Parameters
    ----------
    n_features : int
    cfg : Mamba2Config
    """

    def __init__(self, n_features: int, cfg: Mamba2Config) -> None:
        super().__init__()
        self.embed = nn.Linear(n_features, cfg.d_model)
        self.blocks = nn.Sequential(*[Block(cfg) for _ in range(cfg.layers)])
        self.norm = nn.Parameter(torch.ones(cfg.d_model))
        self.head = nn.Linear(cfg.d_model, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(b,l,f) -> (b,l); l is a multiple of the chunk."""
        y: Tensor = self.head(rms_norm(self.blocks(self.embed(x)), self.norm))
        return y.squeeze(-1)


class Mamba2Trainer:
    """Trains :class:`Mamba2` on the first series; see :class:`foxbench.models.protocol.Trainer`.

    Parameters
    ----------
    data : MarketData
        Only the first series is used; its last fifth only by :meth:`evaluate`.
    cfg : Mamba2Config
    device : str
        ``cpu`` or ``cuda``.

    Raises
    ------
    foxbench.errors.ConfigError
        The config does not fit itself or the data.
    """

    def __init__(self, data: MarketData, cfg: Mamba2Config, device: str = "cpu") -> None:
        cfg.check(data)
        self.cfg, self.device = cfg, device
        self.micro = cfg.micro_for(device)
        self.rng = seeded(cfg.seed)
        self.bars = Bars(data.first, device)
        self.model = Mamba2(self.bars.n_features, cfg).to(device)
        self.adam = Adam(self.model.parameters(), cfg.learning_rate, grad_clip=cfg.grad_clip)

    def step(self) -> float:
        """Train on one batch of windows; returns its mean smooth-L1 loss."""
        cfg = self.cfg
        # 1. windows whose targets all end within the training bars
        starts = self.rng.integers(0, self.bars.n_train - cfg.seq_len, cfg.batch)
        # 2. gradients, a few windows at a time
        loss = self.accumulate(starts)
        # 3. clip and update
        self.adam.step()
        return loss

    def accumulate(self, starts: NDArray[np.int64]) -> float:
        """Add the gradient of the mean loss over the windows at ``starts``; returns that loss."""
        total = torch.zeros((), device=self.device)
        for at in range(0, len(starts), self.micro):
            x, target = self._windows(starts[at : at + self.micro])
            # Sums over the whole batch's count: the gradient is the full batch's, whatever micro.
            loss = functional.smooth_l1_loss(self.model(x), target, reduction="sum")
            loss = loss / (len(starts) * self.cfg.seq_len)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return float(total)

    def _windows(self, starts: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        return windows(self.bars, starts, self.cfg.seq_len)

    def evaluate(self) -> dict[str, float]:
        """Scores of the held-out bars, see :func:`score`."""
        return score(self.model, self.bars, self.cfg.seq_len, self.micro)

    def infer(self) -> float:
        """Forecast of the return after the last bar, from the last window, in training sd."""
        policy = ReturnPolicy(self.model, self.bars, self.cfg.seq_len)
        return policy.forecast(self.bars.x[-policy.rows :])

    def bytes(self) -> dict[str, int]:
        """Bytes by component; ``data`` counts the features shared with the caller."""
        return component_bytes(
            params=self.model.parameters(),
            optimizer=self.adam.tensors(),
            buffers=(),
            data=[self.bars.x, *self.bars.tensors()],
        )

    def steps_per_epoch(self) -> int:
        """Steps whose windows together hold as many bars as are trained on."""
        return max(1, self.bars.n_train // (self.cfg.batch * self.cfg.seq_len))


def windows(bars: Bars, starts: NDArray[np.int64], length: int) -> tuple[Tensor, Tensor]:
    """Scaled features (b,l,f) and next-bar returns (b,l) of the windows at ``starts``.

    Positions past the last bar repeat it.
    """
    positions = starts[:, None] + np.arange(length)
    t = torch.from_numpy(positions.clip(max=bars.n - 1).reshape(-1)).to(bars.x.device)
    shape = (len(starts), length)
    return bars.rows(t).view(*shape, -1), bars.r.index_select(0, t).view(shape)


@torch.no_grad()
def score(model: nn.Module, bars: Bars, length: int, micro: int) -> dict[str, float]:
    """Mean smooth-L1 loss over the held-out bars, and that of the forecast 0.

    Windows overlap by half and only their second half is scored, so that every scored bar
    has at least half a window of past; the first window begins in the training part.

    Parameters
    ----------
    length : int
        Bars of a window.
    micro : int
        Windows of one forward pass.
    """
    new = max(1, length // 2)
    first, last = bars.n_train, bars.n - 2
    starts = np.arange(first, last + 1, new) - (length - new)
    loss = naive = 0.0
    for at in range(0, len(starts), micro):
        x, target = windows(bars, starts[at : at + micro], length)
        target = target[:, -new:]
        positions = starts[at : at + micro, None] + np.arange(length - new, length)
        scored = torch.from_numpy(positions <= last).to(bars.x.device)
        got, want = model(x)[:, -new:][scored], target[scored]
        loss += float(functional.smooth_l1_loss(got, want, reduction="sum"))
        naive += float(functional.smooth_l1_loss(0 * want, want, reduction="sum"))
    n = last + 1 - first
    return {"loss": loss / n, "naive_loss": naive / n}
