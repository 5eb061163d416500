"""Layers of the Temporal Fusion Transformer: gates, gated residual networks, attention.

Lim, Arik, Loeff & Pfister 2019, "Temporal Fusion Transformers for Interpretable Multi-horizon
Time Series Forecasting" (arXiv:1912.09363), sections 4.1, 4.2 and 4.4.  Variable selection, the
widest part, is in ``tft_selection.py``.

Shape letters: t steps, b windows, d model width, h heads, e = d/h head width, n rows of any shape.
Sequences are time-major, (t,b,d), as the LSTM reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class Dropout(nn.Module):
    """Dropout masks from the 16-bit halves of one generator's words.

    ``nn.Dropout`` draws a float a value, which is an eighth of a whole TFT step; 16 bits are
    enough for a share rounded to 1/65,536.

    Parameters
    ----------
    share : float
        Share of values set to 0, in [0, 1); rounded to 1/65,536.
    generator : torch.Generator
        On the device the values are on.
    """

    def __init__(self, share: float, generator: torch.Generator) -> None:
        super().__init__()
        self.dropped = round(share * 65_536)
        self.scale = 65_536 / (65_536 - self.dropped)
        self.generator = generator

    def keep(self, shape: Sequence[int]) -> Tensor | None:
        """A bool mask, True where a value is kept; None when nothing is dropped."""
        if not (self.training and self.dropped):
            return None
        n = math.prod(shape)
        device = self.generator.device
        words = torch.empty((n + 3) // 4, dtype=torch.int64, device=device)
        words.random_(-(2**63), None, generator=self.generator)
        halves = words.view(torch.int16)[:n]
        return (halves >= self.dropped - 32_768).view(tuple(shape))

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with some values 0 and the others scaled up, so that the mean stays."""
        keep = self.keep(x.shape)
        return x if keep is None else x * keep * self.scale


class Gate(nn.Module):
    """LayerNorm(skip + GLU(x)): lets a layer be left out (paper, equations 5 and 17).

    Parameters
    ----------
    d_in, d : int
        Widths of x and of the skip.
    """

    def __init__(self, d_in: int, d: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d_in, 2 * d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        """(n,d_in), (n,d) -> (n,d)."""
        y: Tensor = self.norm(skip + functional.glu(self.linear(x)))
        return y


class Grn(nn.Module):
    """Gated residual network (paper, equations 2 to 4).

    ``Gate(drop(W2 elu(W1 x + Wc c)), x)``.

    Parameters
    ----------
    d_in, d : int
        Width of input and output, and of the hidden layers.
    dropout : Dropout
    context : bool
        Whether a context of width d steers it.
    """

    def __init__(self, d_in: int, d: int, dropout: Dropout, context: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(d_in, d)
        self.context = nn.Linear(d, d, bias=False) if context else None
        self.second = nn.Linear(d, d)
        self.gate = Gate(d, d_in)
        self.dropout = dropout

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """(...,d_in), context (b,d) broadcast over the steps -> (...,d_in)."""
        hidden = self.first(x)
        if self.context is not None and context is not None:
            hidden = hidden + self.context(context)
        hidden = functional.elu(hidden, inplace=True)
        y: Tensor = self.gate(self.dropout(self.second(hidden)), x)
        return y


class InterpretableAttention(nn.Module):
    """Heads with their own queries and keys, one shared value, averaged (equations 13 to 16).

    Since the heads share the value, their average is one attention with the averaged weights:
    those weights say what the forecast looked at.

    Parameters
    ----------
    d, heads : int
    """

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d, d)
        # No bias: it would add the same to a row's every score, and softmax does not see that.
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d // heads)
        self.out = nn.Linear(d // heads, d)

    def weights(self, ahead: Tensor, all_steps: Tensor) -> Tensor:
        """Averaged weights (b,q,t): rows sum to 1, and step k ahead sees no later one.

        Parameters
        ----------
        ahead : Tensor (q, b, d)
            The last q of ``all_steps``.
        all_steps : Tensor (t, b, d)
        """
        steps, n_ahead = all_steps.shape[0], ahead.shape[0]
        q = self.query(ahead).unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3)  # (b,h,q,e)
        k = self.key(all_steps).unflatten(-1, (self.heads, -1)).permute(1, 2, 3, 0)  # (b,h,e,t)
        score = (q @ k) / math.sqrt(q.shape[-1])  # (b,h,q,t)
        later = torch.ones(n_ahead, steps, dtype=torch.bool, device=score.device)
        later = later.triu_(steps - n_ahead + 1)
        averaged: Tensor = score.masked_fill(later, -torch.inf).softmax(-1).mean(1)
        return averaged

    def forward(self, ahead: Tensor, all_steps: Tensor) -> Tensor:
        """(q,b,d), (t,b,d) -> (q,b,d)."""
        values = self.value(all_steps).transpose(0, 1)  # (b,t,e)
        looked_at: Tensor = self.out(self.weights(ahead, all_steps) @ values)
        return looked_at.transpose(0, 1)


def quantile_loss(forecast: Tensor, target: Tensor, quantiles: Tensor) -> Tensor:
    """Sum over windows, steps and quantiles of max(q*e, (q-1)*e), e = target - forecast.

    Parameters
    ----------
    forecast : Tensor (t, b, quantiles)
    target : Tensor (t, b)
    quantiles : Tensor (quantiles,)
    """
    error = target.unsqueeze(-1) - forecast
    return torch.maximum(quantiles * error, (quantiles - 1) * error).sum()
