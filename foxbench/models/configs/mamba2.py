"""Settings of the Mamba-2 trainer (Dao and Gu 2024, arXiv:2405.21060)."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.models.configs.checks import Mismatches
from foxbench.models.data import MarketData


@dataclass(frozen=True)
class Mamba2Config:
    """Settings of :class:`foxbench.models.mamba2.Mamba2Trainer`.

    Attributes
    ----------
    input_dim : int or None
        Features of a bar.  None derives it.
    d_model : int
        Width of the residual stream.
    layers : int
        Blocks.
    expand : int
        Inner width of a block = ``expand * d_model``.
    headdim : int
        Channels of a head; divides the inner width.
    d_state : int
        State size N of a head.
    d_conv : int
        Taps of the causal depthwise convolution.
    chunk : int
        Positions of one SSD chunk; divides ``seq_len``.
    seq_len : int
        Bars of a window.
    batch : int
        Windows of one optimizer step.
    micro : int or None
        Windows of one forward and backward; gradients add up over the batch.  None: 1 on the
        CPU, where it saves activations at no cost in time, and the whole batch elsewhere.
    learning_rate, grad_clip : float
        Adam's step size, and the global norm gradients are scaled down to.
    seed : int
        Of the weights and the windows.
    """

    input_dim: int | None = None
    d_model: int = 128
    layers: int = 4
    expand: int = 2
    headdim: int = 32
    d_state: int = 64
    d_conv: int = 4
    chunk: int = 32
    seq_len: int = 256
    batch: int = 16
    micro: int | None = None
    learning_rate: float = 1e-3
    grad_clip: float = 1.0
    seed: int = 1

    @property
    def d_inner(self) -> int:
        """Inner width of a block."""
        return self.expand * self.d_model

    @property
    def heads(self) -> int:
        """Heads of a block."""
        return self.d_inner // self.headdim

    def micro_for(self, device: str) -> int:
        """Windows of one forward on ``device``: ``micro``, or the default described there."""
        if self.micro is not None:
            return self.micro
        return 1 if device == "cpu" else self.batch

    def check(self, data: MarketData) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with ``data``."""
        m = Mismatches("mamba2")
        m.sizes(layers=self.layers, d_state=self.d_state, d_conv=self.d_conv)
        m.positive(learning_rate=self.learning_rate, grad_clip=self.grad_clip)
        if m.sizes(seq_len=self.seq_len, chunk=self.chunk):
            m.multiple("seq_len", self.seq_len, "chunk", self.chunk)
        if m.sizes(expand=self.expand, d_model=self.d_model, headdim=self.headdim):
            m.multiple("expand*d_model", self.d_inner, "headdim", self.headdim)
        if m.sizes(batch=self.batch) and self.micro is not None and m.sizes(micro=self.micro):
            m.multiple("batch", self.batch, "micro", self.micro)
        # The last training bar's return ends in the held-out part and is not a target.
        m.series(data, self.seq_len + 1, f"seq_len {self.seq_len} + 1")
        if self.input_dim is not None and data.series:
            n = data.first.n_features
            if self.input_dim != n:
                m.add(f"input_dim {self.input_dim} != features {n}")
        m.raise_any()
