"""A MAMBA-2 block as one node of the graph: norm, projection, mixer, projection, residual.

Dao & Gu 2024, "Transformers are SSMs" (arXiv:2405.21060), figure 6, right::

    z, u, dt = in_proj(norm(x))
    x', B, C = silu(causal_conv(u))
    y        = SSD(x' * dt, -exp(a_log) * dt, B, C) + skip * x'
    out      = x + out_proj(norm(y * silu(z)))

Between the projections stand some forty cheap operations on the widest tensors of the model.
Autograd keeps an operand of nearly every one of them, about 14 KB a token and layer besides the
SSD's blocks.  This node keeps its input, the first projection and the SSD's output (4.1 KB), and
does the cheap operations, but no projection and no SSD, again on the way back.

Shape letters: b batch, l length, d model width, h heads, p head width, i = h*p inner width,
n state; w = i + 2n is what the convolution sees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from foxbench.models.ssd import ssd_backward, ssd_forward

EPS = 1e-5
_silu_backward = torch.ops.aten.silu_backward.default


class Weights(NamedTuple):
    """Parameters of a block."""

    norm: Tensor  # (d,)
    in_proj: Tensor  # (2i+2n+h, d): gate z, then x, B, C, then the raw step size
    conv: Tensor  # (taps, w) depthwise, the last tap is now
    conv_bias: Tensor  # (w,)
    dt_bias: Tensor  # (h,) dt = softplus(raw + dt_bias)
    a_log: Tensor  # (h,) A = -exp(a_log)
    skip: Tensor  # (h,)
    out_norm: Tensor  # (i,)
    out_proj: Tensor  # (d, i)

    @property
    def heads(self) -> int:
        """h."""
        return int(self.skip.shape[0])

    @property
    def n_state(self) -> int:
        """n."""
        return int(self.conv.shape[1] - self.out_norm.shape[0]) // 2

    def cut_projected(self, projected: Tensor) -> tuple[Tensor, ...]:
        """(b,l,2i+2n+h) -> z (b,l,i), u (b,l,w), raw step size (b,l,h); views."""
        sizes = [self.out_norm.shape[0], self.conv.shape[1], self.heads]
        return torch.split(projected, sizes, -1)

    def cut_mixed(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(b,l,w) -> x (b,l,h,p), B and C (b,l,n); views."""
        x, b, c = torch.split(s, [self.out_norm.shape[0], self.n_state, self.n_state], -1)
        return x.view(*x.shape[:2], self.heads, -1), b, c


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
    """Depthwise causal convolution of ``u`` (b,l,w) with ``weight`` (taps,w).

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
    torch.mul(dv, weight[-1], out=du)
    d_weight[-1] = (dv * u).sum((0, 1))
    for back in range(1, min(taps, length)):
        tap = taps - 1 - back
        du[:, :-back].addcmul_(dv[:, back:], weight[tap])
        d_weight[tap] = (dv[:, back:] * u[:, :-back]).sum((0, 1))
    return d_weight


def _mix_forward(projected: Tensor, w: Weights, chunk: int) -> tuple[Tensor, Tensor]:
    """What out_proj reads (b,l,i), and the SSD's output (b,l,h,p)."""
    z, u, dt_raw = w.cut_projected(projected)
    s = functional.silu(_causal_conv(u, w.conv, w.conv_bias), inplace=True)
    x, b, c = w.cut_mixed(s)
    dt = functional.softplus(dt_raw + w.dt_bias)  # (b,l,h)
    y = ssd_forward(x * dt.unsqueeze(-1), -dt * w.a_log.exp(), b, c, chunk)
    gated = torch.addcmul(y, x, w.skip.unsqueeze(-1)).flatten(2).mul_(functional.silu(z))
    return _normalize(gated)[0].mul_(w.out_norm), y


def _mix_backward(
    grad: Tensor, projected: Tensor, y: Tensor, w: Weights, chunk: int
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Gradients of ``projected``, and of the weights from ``conv`` to ``out_proj``.

    ``grad`` (b,l,d) is that of out_proj's output, ``y`` what :func:`_mix_forward` returned.
    """
    z, u, dt_raw = w.cut_projected(projected)
    d_projected = torch.empty_like(projected)
    dz, du, d_dt_raw = w.cut_projected(d_projected)
    # 1. the way forward again, around the SSD
    v = _causal_conv(u, w.conv, w.conv_bias)
    s = functional.silu(v)
    x, b, c = w.cut_mixed(s)
    dt = functional.softplus(dt_raw + w.dt_bias)
    with_skip = torch.addcmul(y, x, w.skip.unsqueeze(-1)).flatten(2)
    gate = functional.silu(z)
    normal, scale = _normalize(with_skip * gate)
    # 2. out_proj, norm and gate
    d_mixed = grad @ w.out_proj
    d_out_norm = (d_mixed * normal).sum((0, 1))
    d_gated = _normalize_backward(d_mixed.mul_(w.out_norm), normal, scale)
    d_out_proj = grad.flatten(0, 1).mT @ normal.mul_(w.out_norm).flatten(0, 1)
    del normal, d_mixed
    dz.copy_(_silu_backward(with_skip.mul_(d_gated), z))
    dy = d_gated.mul_(gate).view_as(x)
    del with_skip, gate
    # 3. SSD and the skip around it
    a = -w.a_log.exp()
    dxdt, d_log_decay, d_b, d_c = ssd_backward(dy, y, x * dt.unsqueeze(-1), dt * a, b, c, chunk)
    ds = torch.empty_like(s)
    dx, db, dc = w.cut_mixed(ds)
    db.copy_(d_b)
    dc.copy_(d_c)
    d_skip = (dy * x).sum((0, 1, 3))
    d_a_log = (d_log_decay * dt).sum((0, 1)).mul_(a)
    d_dt = torch.addcmul((dxdt * x).sum(-1), d_log_decay, a)
    torch.mul(dxdt, dt.unsqueeze(-1), out=dx).addcmul_(dy, w.skip.unsqueeze(-1))
    del dxdt, dy, d_gated, s, x, b, c, d_b, d_c
    # 4. step size and convolution
    d_dt_raw.copy_(d_dt.mul_(torch.sigmoid(dt_raw + w.dt_bias)))
    dv = _silu_backward(ds, v)
    del ds, dx, db, dc, v
    d_conv = _causal_conv_backward(dv, u, w.conv, du)
    d_biases = dv.sum((0, 1)), d_dt.sum((0, 1))
    return d_projected, (d_conv, *d_biases, d_a_log, d_skip, d_out_norm, d_out_proj)


class _Block(torch.autograd.Function):
    """See :func:`block`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, chunk: int, *weights: Tensor) -> Tensor:
        w = Weights(*weights)
        projected = functional.linear(_normalize(x)[0].mul_(w.norm), w.in_proj)
        mixed, y = _mix_forward(projected, w, chunk)
        ctx.save_for_backward(x, projected, y, *weights)
        ctx.chunk = chunk
        return functional.linear(mixed, w.out_proj).add_(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, projected, y, *weights = ctx.saved_tensors
        w, grad = Weights(*weights), grads[0]
        d_projected, d_rest = _mix_backward(grad, projected, y, w, ctx.chunk)
        normal, scale = _normalize(x)
        d_in_proj = d_projected.flatten(0, 1).mT @ (normal * w.norm).flatten(0, 1)
        d_read = d_projected @ w.in_proj
        d_norm = (d_read * normal).sum((0, 1))
        dx = _normalize_backward(d_read.mul_(w.norm), normal, scale).add_(grad)
        return dx, None, d_norm, d_in_proj, *d_rest


def block(x: Tensor, weights: Weights, chunk: int) -> Tensor:
    """(b,l,d) -> (b,l,d), causal; ``chunk`` is the SSD's and divides l."""
    y: Tensor = _Block.apply(x, chunk, *weights)  # type: ignore[no-untyped-call]
    return y
