"""The memory account of the TFT's layers; read beside :mod:`foxbench.models.tft_layers`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from foxbench.models.account.parts import BYTE, I64, Tensor
from foxbench.models.account.tape import Grads, Ops, Tape


def linear_params(d_in: int, d_out: int) -> int:
    """Numbers in a weight and a bias."""
    return d_in * d_out + d_out


def gate_params(d_in: int, d: int) -> int:
    """Numbers in a ``Gate``: the layer before the GLU, and the norm."""
    return linear_params(d_in, 2 * d) + 2 * d


def grn_params(d_in: int, d: int, context: bool) -> int:
    """Numbers in a ``Grn``."""
    hidden = linear_params(d_in, d) + linear_params(d, d)
    return hidden + (d * d if context else 0) + gate_params(d, d_in)


class Layers(Ops):
    """The layers, each with its way back.

    Parameters
    ----------
    tape : Tape
    dropout : float
        Share of values set to 0.
    """

    def __init__(self, tape: Tape, dropout: float) -> None:
        super().__init__(tape.memory, tape)
        self.graph = tape
        self.drops = round(dropout * 65_536) > 0

    @contextmanager
    def layer(self, name: str) -> Iterator[None]:
        """Name what is made on the way forward."""
        with self.memory.during(f"forward of {name}", name):
            yield

    def keep(self, n: int) -> Tensor | None:
        """``Dropout.keep``: a bool mask of n values, from 16 bits each; None without dropout."""
        if not self.drops:
            return None
        words = self.memory.new((n + 3) // 4, itemsize=I64)
        mask = self.memory.new(n, itemsize=BYTE)
        del words
        return mask

    def dropout(self, x: Tensor) -> Tensor:
        """``x * keep * scale``."""
        keep = self.keep(math.prod(x.shape))
        if keep is None:
            return x
        like = self.memory.like
        product = like(x)
        y = like(x)
        del product

        def back(dy: Tensor, keep: Tensor) -> Grads:
            scaled = like(dy)
            dx = like(dy)
            del scaled
            return [dx], {}

        self.graph.record([y], [x], [keep], back)
        return y

    def gate(self, name: str, x: Tensor, skip: Tensor, copies: bool = False) -> Tensor:
        """LayerNorm(skip + GLU(linear(x))); ``copies``: x is laid out so that linear copies it."""
        new, like = self.memory.new, self.memory.like
        x = self._copied(x) if copies else x
        d = skip.shape[-1]
        wide = self.linear(f"{name}.linear", x, 2 * d)
        half = like(skip)
        self.graph.record([half], [wide], [wide], lambda dy, wide: ([like(wide)], {}))
        del wide
        total = like(skip)
        self.graph.record([total], [skip, half], [], lambda dy: ([dy.view(), dy.view()], {}))
        del half
        y, mean, inv_sd = like(skip), new(*skip.shape[:-1], 1), new(*skip.shape[:-1], 1)

        def back(dy: Tensor, total: Tensor, mean: Tensor, inv_sd: Tensor) -> Grads:
            dx = like(total)
            grads = self.memory.gradient(d), self.memory.gradient(d)
            return [dx], {f"{name}.norm.weight": grads[0], f"{name}.norm.bias": grads[1]}

        self.graph.record([y], [total], [total, mean, inv_sd], back)
        return y

    def _copied(self, x: Tensor) -> Tensor:
        """A copy in another layout; its gradient needs none."""
        y = self.memory.like(x)
        self.graph.record([y], [x], [], lambda dy: ([dy.view()], {}))
        return y

    def moved(self, x: Tensor, *shape: int) -> Tensor:
        """Dimensions in another order: a view, whose gradient is copied back into the old order."""
        y = x.view(*shape)
        old = x.shape
        self.graph.record([y], [x], [], lambda dy: ([self.memory.new(*old)], {}))
        return y

    def grn(self, name: str, x: Tensor, d: int, context: Tensor | None = None) -> Tensor:
        """``Grn``; the hidden layer of width ``d``."""
        with self.layer(name):
            hidden = self.linear(f"{name}.first", x, d)
            if context is not None:
                hidden = self._steered(name, hidden, context)
                hidden = self.overwrite(hidden)
            else:
                hidden = self._elu_on_view(hidden) if len(x.shape) > 2 else self.overwrite(hidden)
            second = self.linear(f"{name}.second", hidden, d)
            dropped = self.dropout(second)
            del second
            return self.gate(f"{name}.gate", dropped, x)

    def _steered(self, name: str, hidden: Tensor, context: Tensor) -> Tensor:
        """hidden (t,b,d) + context(c) (b,d)."""
        steer = self.linear(f"{name}.context", context, hidden.shape[-1], bias=False)
        y, narrow = self.memory.like(hidden), steer.shape
        self.graph.record(
            [y], [hidden, steer], [], lambda dy: ([dy.view(), self.memory.new(*narrow)], {})
        )
        return y

    def _elu_on_view(self, x: Tensor) -> Tensor:
        """elu_ on the (t,b,d) view of a layer's (t*b,d): autograd copies the gradient twice."""
        like, y = self.memory.like, x.view()

        def back(dy: Tensor, y: Tensor) -> Grads:
            strided = like(y)
            copied = like(y)
            dx = like(y)
            del strided, copied
            return [dx], {}

        self.graph.record([y], [x], [y], back)
        return y

    def cat(self, pieces: Sequence[Tensor]) -> Tensor:
        """Joined along the steps; gradients are views of the whole's."""
        steps = sum(x.shape[0] for x in pieces)
        y, n = self.memory.new(steps, *pieces[0].shape[1:]), len(pieces)
        shapes = [x.shape for x in pieces]
        self.graph.record([y], pieces, [], lambda dy: ([dy.view(*shapes[i]) for i in range(n)], {}))
        return y

    def last(self, x: Tensor, steps: int) -> Tensor:
        """The last steps, a view; the gradient is zeros in the whole's shape around it."""
        whole = x.shape
        y = x.view(steps, *whole[1:])
        self.graph.record([y], [x], [], lambda dy: ([self.memory.new(*whole)], {}))
        return y

    def attention(self, name: str, ahead: Tensor, all_steps: Tensor, heads: int) -> Tensor:
        """``InterpretableAttention``: (q,b,d), (t,b,d) -> (q,b,d)."""
        new = self.memory.new
        (q, b, d), t = ahead.shape, all_steps.shape[0]
        e = d // heads
        with self.layer(name):
            values = self.moved(self.linear(f"{name}.value", all_steps, e), b, t, e)
            query = self.moved(self.linear(f"{name}.query", ahead, d), b, heads, q, e)
            key = self.moved(self.linear(f"{name}.key", all_steps, d, bias=False), b, heads, e, t)
            weights = self._weights(query, key, b, heads, q, t)  # (b,q,t)
            read = new(b, q, e)

            def back(dy: Tensor, weights: Tensor, values: Tensor) -> Grads:
                d_values, d_weights = new(b, t, e), new(b, q, t)
                return [d_weights, d_values], {}

            self.graph.record([read], [weights, values], [weights, values], back)
            return self.moved(self.linear(f"{name}.out", read, d), q, b, d)

    def _weights(self, query: Tensor, key: Tensor, b: int, h: int, q: int, t: int) -> Tensor:
        """Softmax of the scores (b,h,q,t), averaged over the heads."""
        new, like, record = self.memory.new, self.memory.like, self.graph.record

        def same(dy: Tensor, *_kept: Tensor) -> Grads:
            return [like(dy)], {}

        product = new(b, h, q, t)

        def back(dy: Tensor, query: Tensor, key: Tensor) -> Grads:
            d_key, d_query = like(key), like(query)
            return [d_query, d_key], {}

        record([product], [query, key], [query, key], back)
        score = new(b, h, q, t)
        record([score], [product], [], same)
        del product
        later = new(q, t, itemsize=BYTE)
        masked = like(score)
        record([masked], [score], [later], same)
        soft = like(score)
        record([soft], [masked], [soft], same)
        del masked
        averaged = new(b, q, t)
        record([averaged], [soft], [], lambda dy: ([new(b, h, q, t)], {}))
        return averaged
