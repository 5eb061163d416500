"""The state-space dual (SSD) of MAMBA-2: a linear recurrence computed chunk by chunk.

Dao & Gu 2024, "Transformers are SSMs", section 6.  One head with state (P, N) follows::

    state_t = exp(log_decay_t) * state_{t-1} + x_t (outer) b_t
    y_t     = state_t @ c_t

Inside a chunk of Q steps this is a masked (Q, Q) attention, between chunks one small matrix
product, so that all the work is matrix multiplication.

The gradient is written by hand.  Autograd would keep every (Q, Q) and (P, N) block of the
forward pass until the backward one, about 10,000 floats a token; here only the inputs are kept
and the blocks are computed again.  It also saves the gradient of every exponential: with A the
running sum of ``log_decay``, ``y_i`` depends on A as ``exp(A_i - A_j)``, so that::

    dL/dA_t = <dy_t, y_t> - <x_t, dx_t>

(the same identity serves gated linear attention, Yang et al. 2024), and the gradient of
``log_decay`` is its sum over all later steps.

Shape letters: b batch, l length, k chunks, q steps of a chunk, h heads, p head width, n state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class _Blocks:
    """What both passes need of one input, in chunks."""

    xh: Tensor  # (b,k,h,q,p) inputs, heads outside
    g: Tensor  # (b,k,1,q,q) c_i . b_j, shared by the heads
    decay: Tensor  # (b,k,h,q,q) exp(a_i - a_j), 0 above the diagonal
    from_start: Tensor  # (b,k,q,h,1) exp(a_i): what is left of the state that entered the chunk
    to_end: Tensor  # (b,k,q,h,1) exp(a_last - a_j): what of step j reaches the chunk's end
    carry: Tensor  # (b,h,k,k) what of chunk j's state enters chunk i, 0 unless j < i


def _cut(x: Tensor, chunk: int) -> Tensor:
    """(b,l,...) -> (b,k,q,...), a view."""
    return x.view(x.shape[0], -1, chunk, *x.shape[2:])


def _by_head(x: Tensor) -> Tensor:
    """(b,k,q,h,p) -> contiguous (b,k,h,q,p)."""
    return x.transpose(2, 3).contiguous()


def _blocks(x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor) -> _Blocks:
    """The decays and products of one input; ``x`` (b,k,q,h,p), ``b``/``c`` (b,k,q,n)."""
    k, q = x.shape[1], x.shape[2]
    a = log_decay.cumsum(2)  # (b,k,q,h)
    ah = a.transpose(2, 3)  # (b,k,h,q)
    # The mask goes in before exp: above the diagonal a_i - a_j is positive and may overflow.
    above = torch.ones(q, q, dtype=torch.bool, device=x.device).triu_(1)
    decay = (ah.unsqueeze(-1) - ah.unsqueeze(-2)).masked_fill_(above, -torch.inf).exp_()
    total = a[:, :, -1].transpose(1, 2).cumsum(-1)  # (b,h,k) log decay up to a chunk's end
    # ... up to its start: shifted, as total minus the chunk's own would round by what is in it.
    entered = nn.functional.pad(total[..., :-1], (1, 0))
    not_before = torch.ones(k, k, dtype=torch.bool, device=x.device).triu_(0)
    carry = (entered.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill_(not_before, -torch.inf)
    return _Blocks(
        xh=_by_head(x),
        g=(c @ b.mT).unsqueeze(2),
        decay=decay,
        from_start=a.exp().unsqueeze(-1),
        to_end=(a[:, :, -1:] - a).exp_().unsqueeze(-1),
        carry=carry.exp_(),
    )


def _across(carry: Tensor, states: Tensor) -> Tensor:
    """Sum ``states`` (b,k,h*p,n) over chunks with the weights ``carry`` (b,h,i,j) -> same."""
    bs, k, hp, n = states.shape
    h = carry.shape[1]
    by_head = states.view(bs, k, h, hp // h * n).transpose(1, 2)  # (b,h,k,p*n)
    return (carry @ by_head).transpose(1, 2).reshape(bs, k, hp, n)


def _entering_states(x: Tensor, b: Tensor, blocks: _Blocks) -> Tensor:
    """State (b,k,h*p,n) that enters each chunk."""
    own = (x * blocks.to_end).flatten(3).mT @ b  # what each chunk adds by its end
    return _across(blocks.carry, own)


def ssd_forward(x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor, chunk: int) -> Tensor:
    """Outputs ``y`` (b,l,h,p) of the recurrence, without a graph.

    Parameters
    ----------
    x : Tensor (b, l, h, p)
        Inputs, already times the step size dt.
    log_decay : Tensor (b, l, h)
        dt * A, not positive.
    b, c : Tensor (b, l, n)
        Input and output projections, one group for all heads.
    chunk : int
        Q; divides l.
    """
    xc, bc, cc = _cut(x, chunk), _cut(b, chunk), _cut(c, chunk)
    blocks = _blocks(xc, _cut(log_decay, chunk), bc, cc)
    within = (blocks.decay * blocks.g) @ blocks.xh  # (b,k,h,q,p)
    entering = _entering_states(xc, bc, blocks)
    y = (cc @ entering.mT).view_as(xc).mul_(blocks.from_start)
    return y.add_(within.transpose(2, 3)).flatten(1, 2)


def ssd_backward(
    dy: Tensor, y: Tensor, x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor, chunk: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of ``x``, ``log_decay``, ``b`` and ``c``, in their shapes.

    ``y`` is :func:`ssd_forward`'s result and ``dy`` its gradient, both (b,l,h,p).
    """
    xc, bc, cc = _cut(x, chunk), _cut(b, chunk), _cut(c, chunk)
    dyc = _cut(dy, chunk)
    blocks = _blocks(xc, _cut(log_decay, chunk), bc, cc)
    # 1. inside the chunks
    dyh = _by_head(dyc)
    within = (blocks.decay * blocks.g).mT @ dyh  # (b,k,h,q,p), part of dx
    dg = (dyh @ blocks.xh.mT).mul_(blocks.decay).sum(2)  # (b,k,q,q)
    dc = dg @ bc
    db = dg.mT @ cc
    # 2. through the states between them: first what the outputs ask of the entering states,
    #    then, carried back, what they ask of the states each chunk adds
    left = (dyc * blocks.from_start).flatten(3)  # (b,k,q,h*p)
    dc += left @ _entering_states(xc, bc, blocks)
    d_own = _across(blocks.carry.mT, left.mT @ cc)  # (b,k,h*p,n)
    db += (xc * blocks.to_end).flatten(3) @ d_own
    dx = (bc @ d_own.mT).view_as(xc).mul_(blocks.to_end).add_(within.transpose(2, 3))
    dx = dx.flatten(1, 2)
    # 3. the decays, by the identity at the top
    d_sum = (dy * y).sum(-1) - (x * dx).sum(-1)  # (b,l,h)
    d_log_decay = d_sum.flip(1).cumsum(1).flip(1)
    return dx, d_log_decay, db.flatten(1, 2), dc.flatten(1, 2)


class _Ssd(torch.autograd.Function):
    """The two passes above as one node of the graph."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor, chunk: int) -> Tensor:
        y = ssd_forward(x, log_decay, b, c, chunk)
        ctx.save_for_backward(y, x, log_decay, b, c)
        ctx.chunk = chunk
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        y, x, log_decay, b, c = ctx.saved_tensors
        return *ssd_backward(grads[0], y, x, log_decay, b, c, ctx.chunk), None


def ssd(x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor, chunk: int) -> Tensor:
    """Differentiable :func:`ssd_forward`; keeps its inputs and its output, nothing else."""
    y: Tensor = _Ssd.apply(x, log_decay, b, c, chunk)  # type: ignore[no-untyped-call]
    return y
