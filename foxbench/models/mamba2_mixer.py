"""The parts of a MAMBA-2 block between its two projections, as single nodes of the graph.

Convolution, gates, SSD and norm are some forty cheap operations on the widest tensors of the
model.  Autograd keeps an operand of nearly every one of them, about 12 KB a token and layer; here
a node keeps the projection it was given and the SSD's output (3.6 KB) and does the cheap
operations again on the way back.  Dao & Gu 2024, "Transformers are SSMs", figure 6.

Shape letters: b batch, l length, h heads, p head width, n state; i = h*p inner width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from foxbench.models.ssd import ssd_backward, ssd_forward

EPS = 1e-5
_silu_backward = torch.ops.aten.silu_backward.default


def _normalize(x: Tensor) -> tuple[Tensor, Tensor]:
    """x / root mean square over the last dimension, and 1 / that root."""
    # A dot product of each row with itself: no squared copy of x.
    rows = x.reshape(-1, 1, x.shape[-1])
    mean_square = (rows @ rows.mT).view(*x.shape[:-1], 1) / x.shape[-1]
    scale = mean_square.add_(EPS).rsqrt_()
    return x * scale, scale


def _normalize_backward(grad: Tensor, normal: Tensor, scale: Tensor) -> Tensor:
    """Gradient of :func:`_normalize`'s input from that of its first output."""
    along = (grad * normal).mean(-1, keepdim=True)
    return torch.addcmul(grad, normal, along, value=-1).mul_(scale)


class _RmsNorm(torch.autograd.Function):
    """Root-mean-square norm that keeps its input and one float a row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        normal, scale = _normalize(x)
        ctx.save_for_backward(x, scale, weight)
        return normal.mul_(weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        x, scale, weight = ctx.saved_tensors
        normal = x * scale
        d_weight = (grads[0] * normal).flatten(0, -2).sum(0)
        return _normalize_backward(grads[0] * weight, normal, scale), d_weight


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """``x / sqrt(mean(x**2) + 1e-5) * weight`` over the last dimension (Zhang & Sennrich 2019)."""
    y: Tensor = _RmsNorm.apply(x, weight)  # type: ignore[no-untyped-call]
    return y


def _causal_conv(u: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Depthwise causal convolution of ``u`` (b,l,w) with ``weight`` (taps,w), the last tap now.

    Shifted products instead of conv1d: that wants (b,w,l) and two transposed copies.
    """
    taps, length = weight.shape[0], u.shape[1]
    v = torch.addcmul(bias, u, weight[-1])
    for back in range(1, min(taps, length)):
        v[:, back:].addcmul_(u[:, :-back], weight[taps - 1 - back])
    return v


def _causal_conv_backward(dv: Tensor, u: Tensor, weight: Tensor, du: Tensor) -> Tensor:
    """Write the input's gradient into ``du``, return the weight's."""
    taps, length = weight.shape[0], u.shape[1]
    d_weight = torch.zeros_like(weight)
    torch.mul(dv, weight[-1], out=du) if du.is_contiguous() else du.copy_(dv).mul_(weight[-1])
    d_weight[-1] = (dv * u).sum((0, 1))
    for back in range(1, min(taps, length)):
        tap = taps - 1 - back
        du[:, :-back].addcmul_(dv[:, back:], weight[tap])
        d_weight[tap] = (dv[:, back:] * u[:, :-back]).sum((0, 1))
    return d_weight


class _Mixer(torch.autograd.Function):
    """See :func:`mix`."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        conv_weight: Tensor,
        conv_bias: Tensor,
        dt_bias: Tensor,
        a_log: Tensor,
        skip: Tensor,
        norm_weight: Tensor,
        n_state: int,
        chunk: int,
    ) -> Tensor:
        heads, inner = a_log.shape[0], norm_weight.shape[0]
        z, u, dt_raw = torch.split(projected, [inner, inner + 2 * n_state, heads], -1)
        s = functional.silu(_causal_conv(u, conv_weight, conv_bias), inplace=True)
        x, b, c = torch.split(s, [inner, n_state, n_state], -1)
        x = x.view(*x.shape[:2], heads, -1)  # (b,l,h,p)
        dt = functional.softplus(dt_raw + dt_bias)  # (b,l,h)
        y = ssd_forward(x * dt.unsqueeze(-1), -dt * a_log.exp(), b, c, chunk)
        ctx.save_for_backward(
            projected, y, conv_weight, conv_bias, dt_bias, a_log, skip, norm_weight
        )
        ctx.n_state, ctx.chunk = n_state, chunk
        gated = torch.addcmul(y, x, skip.unsqueeze(-1)).flatten(2).mul_(functional.silu(z))
        return _normalize(gated)[0].mul_(norm_weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        projected, y, conv_weight, conv_bias, dt_bias, a_log, skip, norm_weight = ctx.saved_tensors
        n_state, heads, inner = ctx.n_state, a_log.shape[0], norm_weight.shape[0]
        z, u, dt_raw = torch.split(projected, [inner, inner + 2 * n_state, heads], -1)
        d_projected = torch.empty_like(projected)
        dz, du, d_dt_raw = torch.split(d_projected, [inner, inner + 2 * n_state, heads], -1)
        # 1. the way forward again, up to the SSD's inputs
        v = _causal_conv(u, conv_weight, conv_bias)
        s = functional.silu(v)
        x, b, c = torch.split(s, [inner, n_state, n_state], -1)
        x = x.view(*x.shape[:2], heads, -1)
        dt = functional.softplus(dt_raw + dt_bias)
        # 2. norm and gate
        with_skip = torch.addcmul(y, x, skip.unsqueeze(-1)).flatten(2)
        gate = functional.silu(z)
        normal, scale = _normalize(with_skip * gate)
        d_norm_weight = (grads[0] * normal).sum((0, 1))
        d_gated = _normalize_backward(grads[0] * norm_weight, normal, scale)
        del normal
        dz.copy_(_silu_backward(with_skip.mul_(d_gated), z))
        del with_skip
        dy = d_gated.mul_(gate).view_as(x)
        del gate
        # 3. SSD and the skip around it
        a = -a_log.exp()
        ds = torch.empty_like(s)
        dx, db, dc = torch.split(ds, [inner, n_state, n_state], -1)
        dxdt, d_log_decay, d_b, d_c = ssd_backward(
            dy, y, x * dt.unsqueeze(-1), dt * a, b, c, ctx.chunk
        )
        db.copy_(d_b)
        dc.copy_(d_c)
        d_skip = (dy * x).sum((0, 1, 3))
        d_a_log = (d_log_decay * dt).sum((0, 1)).mul_(a)
        d_dt = torch.addcmul((dxdt * x).sum(-1), d_log_decay, a)
        dx.view(*x.shape[:2], heads, -1).copy_(
            dxdt.mul_(dt.unsqueeze(-1)).addcmul_(dy, skip.unsqueeze(-1))
        )
        del dxdt, dy, d_gated, s, x, b, c, d_b, d_c
        # 4. step size and convolution
        d_dt_raw.copy_(d_dt.mul_(torch.sigmoid(dt_raw + dt_bias)))
        dv = _silu_backward(ds, v)
        del ds, dx, db, dc, v
        d_conv_weight = _causal_conv_backward(dv, u, conv_weight, du)
        return (
            d_projected,
            d_conv_weight,
            dv.sum((0, 1)),
            d_dt.sum((0, 1)),
            d_a_log,
            d_skip,
            d_norm_weight,
            None,
            None,
        )


def mix(
    projected: Tensor,
    conv_weight: Tensor,
    conv_bias: Tensor,
    dt_bias: Tensor,
    a_log: Tensor,
    skip: Tensor,
    norm_weight: Tensor,
    n_state: int,
    chunk: int,
) -> Tensor:
    """Everything of a block between in_proj and out_proj.

    Parameters
    ----------
    projected : Tensor (b, l, 2*i + 2*n + h)
        in_proj's output: gate z (i), then x (i), B (n), C (n), then the raw step size (h).
    conv_weight, conv_bias : Tensor (taps, i + 2*n), (i + 2*n,)
        Depthwise causal convolution over x, B and C.
    dt_bias, a_log, skip : Tensor (h,)
        dt = softplus(raw + dt_bias); A = -exp(a_log); y += skip * x.
    norm_weight : Tensor (i,)
    n_state, chunk : int
        n, and the SSD's chunk, which divides l.

    Returns
    -------
    Tensor (b, l, i)
        rms_norm((SSD(x) + skip * x) * silu(z)).
    """
    y: Tensor = _Mixer.apply(  # type: ignore[no-untyped-call]
        projected, conv_weight, conv_bias, dt_bias, a_log, skip, norm_weight, n_state, chunk
    )
    return y
