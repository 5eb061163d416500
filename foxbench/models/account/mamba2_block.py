"""The memory account of a MAMBA-2 block; read beside ``models/mamba2_block.py`` and ``ssd.py``.

A block is one node of the graph whose two passes are written by hand, so this is their text again
with shapes for values: every line that makes a tensor there makes one here, every ``del`` is one.

Shape letters: b batch, l length, d model width, i inner width = h heads * p head width, n state,
w = i + 2n what the convolution sees, k chunks of q steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.models.account.parts import BYTE, Memory, Tensor
from foxbench.models.account.tape import Grads, Tape
from foxbench.models.configs.mamba2 import Mamba2Config


@dataclass(frozen=True)
class Sizes:
    """The sizes of a block, by their letters."""

    d: int
    i: int
    n: int
    h: int
    p: int
    q: int
    taps: int

    @classmethod
    def of(cls, cfg: Mamba2Config) -> Sizes:
        """Those of a config."""
        return cls(
            cfg.d_model, cfg.d_inner, cfg.d_state, cfg.heads, cfg.headdim, cfg.chunk, cfg.d_conv
        )

    @property
    def w(self) -> int:
        """What the convolution sees."""
        return self.i + 2 * self.n

    @property
    def projected(self) -> int:
        """Width of the first projection: z, u and the raw step size."""
        return self.i + self.w + self.h

    def weights(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters."""
        return {
            "norm": (self.d,),
            "in_proj": (self.projected, self.d),
            "conv": (self.taps, self.w),
            "conv_bias": (self.w,),
            "dt_bias": (self.h,),
            "a_log": (self.h,),
            "skip": (self.h,),
            "out_norm": (self.i,),
            "out_proj": (self.d, self.i),
        }


def block(tape: Tape, name: str, x: Tensor, s: Sizes) -> Tensor:
    """(b,l,d) -> (b,l,d)."""
    memory, new = tape.memory, tape.memory.new
    b, length = x.shape[0], x.shape[1]
    read, scale = normalize(memory, x)
    del scale
    projected = new(b, length, s.projected)
    del read
    mixed, y = _mix_forward(memory, projected, s)
    out = new(b, length, s.d)
    del mixed

    def back(grad: Tensor, x: Tensor, projected: Tensor, y: Tensor) -> Grads:
        _d_projected, params = _mix_backward(memory, projected, s)
        _normal, scale = normalize(memory, x)
        weighed = memory.like(x)
        params["in_proj"] = memory.gradient(s.projected, s.d)
        del weighed
        d_read = memory.like(x)
        product = memory.like(x)
        params["norm"] = memory.gradient(s.d)
        del product
        dx = normalize_backward(memory, d_read, scale)
        return [dx], {f"{name}.{key}": grad for key, grad in params.items()}

    tape.record([out], [x], [x, projected, y], back)
    return out


def normalize(memory: Memory, x: Tensor) -> tuple[Tensor, Tensor]:
    """x / its root mean square, and the scale of each row."""
    rows = x.shape[:-1]
    products = memory.new(*rows, 1)
    scale = memory.new(*rows, 1)
    del products
    return memory.like(x), scale


def normalize_backward(memory: Memory, grad: Tensor, scale: Tensor) -> Tensor:
    """Gradient of the input of :func:`normalize`."""
    product = memory.like(grad)
    along = memory.like(scale)
    del product
    out = memory.like(grad)
    del along
    return out


def _mix_forward(memory: Memory, projected: Tensor, s: Sizes) -> tuple[Tensor, Tensor]:
    """What out_proj reads (b,l,i), and the SSD's output (b,l,h,p)."""
    new = memory.new
    bl = projected.shape[:2]
    mixed_in = new(*bl, s.w)  # s: convolution and silu in place
    raw = new(*bl, s.h)
    dt = new(*bl, s.h)
    del raw
    x_dt = new(*bl, s.h, s.p)
    minus_dt, a = new(*bl, s.h), new(s.h)
    log_decay = new(*bl, s.h)
    del minus_dt, a
    y = _ssd_forward(memory, bl, s)
    del x_dt, log_decay
    gated = new(*bl, s.i)
    gate = new(*bl, s.i)
    del gate
    out, scale = normalize(memory, gated)
    del gated, scale, mixed_in, dt
    return out, y


class _Blocks:
    """``_Blocks`` of the SSD: decays and products of one input, in chunks."""

    def __init__(self, memory: Memory, bl: tuple[int, ...], s: Sizes) -> None:
        new, b, k = memory.new, bl[0], bl[1] // s.q
        a = new(*bl, s.h)
        above = new(s.q, s.q, itemsize=BYTE)
        self.decay = new(b, k, s.h, s.q, s.q)
        total, entered = new(b, s.h, k), new(b, s.h, k)
        not_before = new(k, k, itemsize=BYTE)
        self.carry = new(b, s.h, k, k)
        # Transposing one step or one head copies nothing.
        self.xh = new(*bl, s.h, s.p) if s.q > 1 and s.h > 1 else None
        self.g = new(b, k, s.q, s.q)
        self.from_start = new(*bl, s.h)
        self.to_end = new(*bl, s.h)
        del a, above, total, entered, not_before


def _within(memory: Memory, bl: tuple[int, ...], s: Sizes) -> Tensor:
    """(decay * g) @ xh, inside the chunks: (b,k,h,q,p)."""
    new, b, k = memory.new, bl[0], bl[1] // s.q
    # The product is laid out as the decays are, heads innermost, which matmul cannot batch over.
    product = new(b, k, s.h, s.q, s.q)
    copied = memory.like(product) if b * k > 1 and s.q > 1 and s.h > 1 else None
    out = new(*bl, s.h, s.p)
    del product, copied
    return out


def _across(memory: Memory, states: Tensor, s: Sizes, k: int) -> Tensor:
    """Sum states (b,k,h*p,n) over chunks."""
    by_head = memory.like(states)
    return memory.like(states) if s.h > 1 and k > 1 else by_head


def _entering(memory: Memory, bl: tuple[int, ...], s: Sizes) -> Tensor:
    """State that enters each chunk: (b,k,h*p,n)."""
    new, b, k = memory.new, bl[0], bl[1] // s.q
    to_end = new(*bl, s.h, s.p)
    own = new(b, k, s.h * s.p, s.n)
    del to_end
    return _across(memory, own, s, k)


def _ssd_forward(memory: Memory, bl: tuple[int, ...], s: Sizes) -> Tensor:
    blocks = _Blocks(memory, bl, s)
    within = _within(memory, bl, s)
    entering = _entering(memory, bl, s)
    y = memory.new(*bl, s.h, s.p)
    del blocks, within, entering
    return y


def _ssd_backward(memory: Memory, bl: tuple[int, ...], s: Sizes) -> tuple[Tensor, ...]:
    """Gradients of x, log_decay, b and c."""
    new, b, k = memory.new, bl[0], bl[1] // s.q
    blocks = _Blocks(memory, bl, s)
    # 1. inside the chunks
    dyh = new(*bl, s.h, s.p) if s.q > 1 and s.h > 1 else None
    within = _within(memory, bl, s)
    scores = new(b, k, s.h, s.q, s.q)
    dg = new(b, k, s.q, s.q)
    del scores
    dc, db = new(*bl, s.n), new(*bl, s.n)
    # 2. through the states between them
    left = new(*bl, s.h * s.p)
    entering = _entering(memory, bl, s)
    product = new(*bl, s.n)
    del entering, product
    asked = new(b, k, s.h * s.p, s.n)
    d_own = _across(memory, asked, s, k)
    del asked
    to_end = new(*bl, s.h * s.p)
    product = new(*bl, s.n)
    del to_end, product
    dx = new(*bl, s.h, s.p)
    # 3. the decays
    sums = []
    for _ in range(2):
        product = new(*bl, s.h, s.p)
        sums.append(new(*bl, s.h))
        del product
    d_sum = new(*bl, s.h)
    del sums
    flipped = new(*bl, s.h)
    summed = new(*bl, s.h)
    del flipped
    d_log_decay = new(*bl, s.h)
    del summed, d_sum, blocks, dyh, within, dg, left, d_own
    return dx, d_log_decay, db, dc


def _mix_backward(memory: Memory, projected: Tensor, s: Sizes) -> tuple[Tensor, dict[str, Tensor]]:
    """Gradient of ``projected``, and those of the parameters from ``conv`` on."""
    new, gradient = memory.new, memory.gradient
    bl = projected.shape[:2]
    d_projected = memory.like(projected)
    # 1. the way forward again, around the SSD
    v, silu = new(*bl, s.w), new(*bl, s.w)
    raw = new(*bl, s.h)
    dt = new(*bl, s.h)
    del raw
    with_skip, gate = new(*bl, s.i), new(*bl, s.i)
    gated = new(*bl, s.i)
    normal, scale = normalize(memory, gated)
    del gated
    # 2. out_proj, norm and gate
    params = {}
    d_mixed = new(*bl, s.i)
    product = new(*bl, s.i)
    params["out_norm"] = gradient(s.i)
    del product
    d_gated = normalize_backward(memory, d_mixed, scale)
    params["out_proj"] = gradient(s.d, s.i)
    del normal, d_mixed
    silu_backward = new(*bl, s.i)
    del silu_backward, with_skip, gate
    # 3. SSD and the skip around it
    minus, a = new(s.h), new(s.h)
    del minus
    x_dt, log_decay = new(*bl, s.h, s.p), new(*bl, s.h)
    dxdt, d_log_decay, db, dc = _ssd_backward(memory, bl, s)
    del x_dt, log_decay
    ds = new(*bl, s.w)
    product = new(*bl, s.h, s.p)
    params["skip"] = gradient(s.h)
    del product
    product = new(*bl, s.h)
    params["a_log"] = gradient(s.h)
    del product
    product = new(*bl, s.h, s.p)
    summed = new(*bl, s.h)
    del product
    d_dt = new(*bl, s.h)
    del summed, dxdt, d_gated, silu, db, dc
    # 4. step size and convolution
    raw = new(*bl, s.h)
    sigmoid = new(*bl, s.h)
    del raw, sigmoid
    dv = new(*bl, s.w)
    del ds, v
    params["conv"] = gradient(s.taps, s.w)
    for back in range(min(s.taps, bl[1])):
        product = new(bl[0], bl[1] - back, s.w)
        summed = new(s.w)
        del product, summed
    params["conv_bias"], params["dt_bias"] = gradient(s.w), gradient(s.h)
    del dv, d_dt, scale, dt, a, d_log_decay
    return d_projected, params
