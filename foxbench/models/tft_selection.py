"""Variable selection of the Temporal Fusion Transformer (Lim et al. 2019, section 4.2).

Each of V variables goes through a gated residual network (GRN) of its own; a further GRN reads
all variables and weighs the results.  Here every variable is one scalar x, and two things follow:

- A scalar's embedding is affine in it, and so is the first layer of a GRN applied to it.  The two
  fold into one scale and one shift, and the GRN's skip is a scale and a shift as well: the same
  functions with fewer parameters and one matrix product less.
- The selecting GRN reads the V scalars themselves rather than V embeddings of them.

The V networks make up two thirds of a TFT step and nearly all of its activations (9 variables x
960 rows x 64 values, a dozen times).  :class:`_Select` works through them one variable at a time,
in blocks that stay in the cache, keeps none of it, and does it again on the way back.

Shape letters: n rows, v variables, d width.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from foxbench.models.tft_layers import Dropout, Grn

EPS = 1e-5
_aten = torch.ops.aten


class _Weights(NamedTuple):
    """Parameters of the V networks; the first index is the variable."""

    first_scale: Tensor  # (v,d) x -> hidden
    first_shift: Tensor  # (v,d)
    second: Tensor  # (v,d,d)
    second_bias: Tensor  # (v,d)
    gate: Tensor  # (v,d,2d)
    gate_bias: Tensor  # (v,2d)
    skip_scale: Tensor  # (v,d) x -> skip
    skip_shift: Tensor  # (v,d)
    norm: Tensor  # (v,d)
    norm_bias: Tensor  # (v,d)


class _Passed(NamedTuple):
    """One variable's way through its network, (n,d) unless said otherwise."""

    hidden: Tensor  # elu(first layer)
    dropped: Tensor  # second layer after dropout
    gated: Tensor  # (n,2d) before the GLU
    before_norm: Tensor
    normal: Tensor  # after the norm, without its weight
    mean: Tensor  # (n,1)
    inv_sd: Tensor  # (n,1)


def _one_variable(x: Tensor, w: _Weights, keep: Tensor | None, scale: float) -> _Passed:
    """The GRN of one variable; ``x`` (n,1), ``w`` that variable's, ``keep`` (n,d) bool."""
    hidden = functional.elu(torch.addcmul(w.first_shift, x, w.first_scale), inplace=True)
    dropped = torch.addmm(w.second_bias, hidden, w.second)
    if keep is not None:
        dropped.mul_(keep.to(dropped.dtype)).mul_(scale)
    gated = torch.addmm(w.gate_bias, dropped, w.gate)
    before_norm = functional.glu(gated).addcmul_(x, w.skip_scale).add_(w.skip_shift)
    normal, mean, inv_sd = torch.native_layer_norm(
        before_norm, before_norm.shape[-1:], None, None, EPS
    )
    return _Passed(hidden, dropped, gated, before_norm, normal, mean, inv_sd)


class _Select(torch.autograd.Function):
    """sum over v of share_v * LayerNorm(GRN_v(x_v)); see :class:`VariableSelection`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, shares: Tensor, keep: Tensor | None, scale: float, *weights: Tensor
    ) -> Tensor:
        ctx.save_for_backward(x, shares, keep, *weights)
        ctx.scale = scale
        # The norms' biases, weighed by the shares, are one matrix product.
        out = shares @ weights[-1]  # (n,d)
        for v in range(x.shape[1]):
            w = _Weights(*[p[v] for p in weights])
            passed = _one_variable(x[:, v, None], w, None if keep is None else keep[v], scale)
            out.addcmul_(passed.normal.mul_(w.norm), shares[:, v, None])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, shares, keep, *weights = ctx.saved_tensors
        d_out = grads[0]
        d = _Weights(*[torch.empty_like(p) for p in weights])
        d_shares = d_out @ weights[-1].mT  # (n,v), the part of the norms' biases
        torch.mm(shares.mT, d_out, out=d.norm_bias)
        for v in range(x.shape[1]):
            w = _Weights(*[p[v] for p in weights])
            xv, share, kept = x[:, v, None], shares[:, v, None], None if keep is None else keep[v]
            p = _one_variable(xv, w, kept, ctx.scale)
            # 1. the weighing and the norm
            d_shares[:, v] += (d_out * p.normal) @ w.norm
            d_weighed = d_out * share
            d.norm[v] = torch.linalg.vecdot(d_weighed, p.normal, dim=0)
            d_sum, _, _ = _aten.native_layer_norm_backward(
                d_weighed.mul_(w.norm),
                p.before_norm,
                p.before_norm.shape[-1:],
                p.mean,
                p.inv_sd,
                None,
                None,
                [True, False, False],
            )
            # 2. the skip and the gate
            torch.mm(xv.mT, d_sum, out=d.skip_scale[v, None])
            d.skip_shift[v] = d_sum.sum(0)
            d_gated = _aten.glu_backward(d_sum, p.gated, -1)  # (n,2d)
            torch.mm(p.dropped.mT, d_gated, out=d.gate[v])
            d.gate_bias[v] = d_gated.sum(0)
            # 3. dropout and the second layer
            d_second = d_gated @ w.gate.mT
            if kept is not None:
                d_second.mul_(kept.to(d_second.dtype)).mul_(ctx.scale)
            torch.mm(p.hidden.mT, d_second, out=d.second[v])
            d.second_bias[v] = d_second.sum(0)
            # 4. the first layer
            d_first = _aten.elu_backward(d_second @ w.second.mT, 1.0, 1.0, 1.0, True, p.hidden)
            torch.mm(xv.mT, d_first, out=d.first_scale[v, None])
            d.first_shift[v] = d_first.sum(0)
        return None, d_shares, None, None, *d


class VariableSelection(nn.Module):
    """V scalars -> one vector, and the share each variable had in it.

    Parameters
    ----------
    n_variables, d : int
    dropout : Dropout
    context : bool
        Whether a context of width d steers the selection.

    Notes
    -----
    ``x`` is data: no gradient flows into it.
    """

    def __init__(self, n_variables: int, d: int, dropout: Dropout, context: bool = False) -> None:
        super().__init__()
        v, bound = n_variables, 1 / math.sqrt(d)

        def uniform(*shape: int, limit: float = bound) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-limit, limit))

        self.dropout = dropout
        self.selector = Grn(v, d, dropout, context)
        # As nn.Linear draws them; a scale is a layer of one input, whose bound is 1.
        self.first_scale = uniform(v, d, limit=1.0)
        self.first_shift = uniform(v, d)
        self.second = uniform(v, d, d)
        self.second_bias = uniform(v, d)
        self.gate = uniform(v, d, 2 * d)
        self.gate_bias = uniform(v, 2 * d)
        self.skip_scale = uniform(v, d, limit=1.0)
        self.skip_shift = uniform(v, d, limit=1.0)
        self.norm = nn.Parameter(torch.ones(v, d))
        self.norm_bias = nn.Parameter(torch.zeros(v, d))

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(...,v), context (b,d) -> (...,d) and the shares (...,v), which sum to 1."""
        shares = self.selector(x, context).softmax(-1)
        n, d = x.numel() // x.shape[-1], self.first_scale.shape[1]
        keep = self.dropout.keep((x.shape[-1], n, d))
        out: Tensor = _Select.apply(  # type: ignore[no-untyped-call]
            x.reshape(n, -1),
            shares.reshape(n, -1),
            keep,
            self.dropout.scale,
            *_Weights(*[getattr(self, name) for name in _Weights._fields]),
        )
        return out.view(*x.shape[:-1], d), shares
