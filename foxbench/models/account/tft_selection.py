"""The memory account of the variable selection; see :mod:`foxbench.models.tft_selection`.

Two passes written by hand: their text again, with shapes for values.  The values of one variable
stand until the next one's replace them.

Shape letters: n rows, v variables, d width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from foxbench.models.account.parts import Memory, Tensor
from foxbench.models.account.tape import Grads
from foxbench.models.account.tft_layers import Layers, grn_params


def weights(v: int, d: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of the V networks."""
    return {
        "first_scale": (v, d),
        "first_shift": (v, d),
        "second": (v, d, d),
        "second_bias": (v, d),
        "gate": (v, d, 2 * d),
        "gate_bias": (v, 2 * d),
        "skip_scale": (v, d),
        "skip_shift": (v, d),
        "norm": (v, d),
        "norm_bias": (v, d),
    }


def params(v: int, d: int, context: bool) -> int:
    """Numbers in a ``VariableSelection``."""
    networks = sum(math.prod(shape) for shape in weights(v, d).values())
    return grn_params(v, d, context) + networks


def selection(
    net: Layers, name: str, layer: str, x: Tensor, d: int, context: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(...,v), context (b,d) -> (...,d) and the shares (...,v)."""
    memory = net.memory
    scores = net.grn(f"{name}.selector", x, d, context)
    with net.layer(layer):
        shares = memory.like(x)
        net.graph.record([shares], [scores], [shares], lambda dy, shares: ([memory.like(dy)], {}))
        del scores
        v = x.shape[-1]
        n = math.prod(x.shape[:-1])
        keep = net.keep(v * n * d)
        out = _forward(memory, n, v, d, keep is not None).view(*x.shape[:-1], d)

        def back(d_out: Tensor, x: Tensor, shares: Tensor, keep: Tensor | None) -> Grads:
            return _backward(memory, name, n, v, d, keep is not None)

        net.graph.record([out], [shares], [x, shares, keep], back)
    return out, shares


class _Passed(NamedTuple):
    hidden: Tensor  # (n,d)
    dropped: Tensor  # (n,d)
    gated: Tensor  # (n,2d)
    before_norm: Tensor  # (n,d)
    normal: Tensor  # (n,d)
    mean: Tensor  # (n,1)
    inv_sd: Tensor  # (n,1)


def _one_variable(memory: Memory, n: int, d: int, drops: bool) -> _Passed:
    new = memory.new
    hidden = new(n, d)
    dropped = new(n, d)
    if drops:
        mask = new(n, d)
        del mask
    gated = new(n, 2 * d)
    before_norm = new(n, d)
    return _Passed(hidden, dropped, gated, before_norm, new(n, d), new(n, 1), new(n, 1))


def _forward(memory: Memory, n: int, v: int, d: int, drops: bool) -> Tensor:
    out = memory.new(n, d)
    passed: _Passed
    for _ in range(min(2, v)):  # the variables are alike
        passed = _one_variable(memory, n, d, drops)
    del passed
    return out


def _backward(memory: Memory, name: str, n: int, v: int, d: int, drops: bool) -> Grads:
    new = memory.new
    grads = {f"{name}.{key}": memory.gradient(*shape) for key, shape in weights(v, d).items()}
    d_shares = new(n, v)
    for _ in range(min(2, v)):
        p = _one_variable(memory, n, d, drops)
        # 1. the weighing and the norm
        product, dot = new(n, d), new(n)
        del product, dot
        d_weighed = new(n, d)
        product, dot = new(n, d), new(d)
        del product, dot
        d_sum = new(n, d)
        # 2. the skip and the gate
        d_gated = new(n, 2 * d)
        # 3. dropout and the second layer
        d_second = new(n, d)
        if drops:
            mask = new(n, d)
            del mask
        # 4. the first layer
        product = new(n, d)
        d_first = new(n, d)
        del product
    del p, d_weighed, d_sum, d_gated, d_second, d_first
    return [d_shares], grads
