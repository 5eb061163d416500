"""The memory account of MAMBA-2; read beside :mod:`foxbench.models.mamba2`.

The blocks, which hold nearly all of it, are in ``mamba2_block.py``.

Shape letters: b windows, l bars of a window, f features, d model width.
"""

from __future__ import annotations

from foxbench.models.account.mamba2_block import Sizes, block, normalize, normalize_backward
from foxbench.models.account.parts import F32, I64, Account, Memory, Tensor, floats
from foxbench.models.account.tape import Grads, Ops, Tape, adam
from foxbench.models.account.trading import bars_bytes
from foxbench.models.configs.mamba2 import Mamba2Config
from foxbench.models.data import MarketData


def account(cfg: Mamba2Config, data: MarketData, device: str) -> Account:
    """The account of :class:`foxbench.models.mamba2.Mamba2Trainer`."""
    n_features, d = data.first.n_features, cfg.d_model
    s = Sizes.of(cfg)
    ends = floats([(d, n_features), (d,), (d,), (1, d), (1,)])  # embed, norm, head
    params = ends + cfg.layers * floats(s.weights().values())
    tape = Tape(Memory(device))
    _step(tape, cfg, s, n_features, cfg.micro_for(device))
    x = F32 * data.first.n_bars * n_features
    return tape.account(params, 0, x + bars_bytes(data))


def _step(tape: Tape, cfg: Mamba2Config, s: Sizes, n_features: int, micro: int) -> None:
    memory, new = tape.memory, tape.memory.new
    with memory.during("batch"):
        total = new()
    held: list[Tensor] = []
    # The second micro-batch finds all gradients standing; those after it are like the second.
    for _ in range(min(2, cfg.batch // micro)):
        with memory.during("gathering", "batch"):
            t = new(micro * cfg.seq_len, itemsize=I64)
            raw = new(micro * cfg.seq_len, n_features)
            x = new(micro, cfg.seq_len, n_features)
            del raw
            target = new(micro, cfg.seq_len)
            del t
        held = _forward(tape, cfg, s, x, target)  # the last micro-batch's loss until now
        tape.backward(held[0])
        held = [x, target, held[0].view()]
    adam(memory, tape)
    del total, held


def _forward(tape: Tape, cfg: Mamba2Config, s: Sizes, x: Tensor, target: Tensor) -> list[Tensor]:
    """The mean loss of one micro-batch; ``x`` (b,l,f), ``target`` (b,l)."""
    memory, ops = tape.memory, Ops(tape.memory, tape)
    with memory.during("forward of embed", "embed"):
        y = ops.linear("embed", x, cfg.d_model)
    for i in range(cfg.layers):
        with memory.during(f"forward of blocks.{i}", f"blocks.{i}"):
            y = block(tape, f"blocks.{i}", y, s)
    with memory.during("forward of norm", "norm"):
        y = _rms_norm(tape, y)
    with memory.during("forward of head", "head"):
        y = ops.linear("head", y, 1)  # (b,l,1)
    with memory.during("loss"):
        return [_loss(tape, y, target)]


def _rms_norm(tape: Tape, x: Tensor) -> Tensor:
    memory = tape.memory
    y, scale = normalize(memory, x)

    def back(dy: Tensor, x: Tensor, scale: Tensor) -> Grads:
        _normal = memory.like(x)
        product = memory.like(x)
        d_norm = memory.gradient(x.shape[-1])
        del product
        weighed = memory.like(x)
        return [normalize_backward(memory, weighed, scale)], {"norm": d_norm}

    tape.record([y], [x], [x, scale], back)
    return y


def _loss(tape: Tape, y: Tensor, target: Tensor) -> Tensor:
    """Smooth L1, summed, over the count of the whole batch."""
    new = tape.memory.new
    summed = new(*target.shape)  # leaves its sum in the first of its differences
    loss = new()
    del summed

    def back(dy: Tensor, y: Tensor, target: Tensor) -> Grads:
        divided = new()
        d_y = new(*y.shape)
        del divided
        return [d_y], {}

    tape.record([loss], [y], [y, target], back)
    return loss
