"""Settings of the Temporal Fusion Transformer (Lim et al. 2021, arXiv:1912.09363)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from foxbench.models.configs.checks import Mismatches
from foxbench.models.data import STATIC_NAMES, MarketData

#: Known ahead of time: they follow from the clock alone.
KNOWN = ("minute_sin_1", "minute_cos_1", "minutes_since_open")
#: Known only up to the present bar.
OBSERVED = ("r_1", "sigma_15", "v_m_60", "clv", "signed_volume_15", "vwap_60")


@dataclass(frozen=True)
class TftConfig:
    """Settings of :class:`foxbench.models.tft.TftTrainer`.

    Attributes
    ----------
    input_dim : int or None
        Scalars a bar is described by: statics + known + observed.  None derives it.
    known, observed : tuple of str
        Feature columns, by name, that are known ahead, and known only up to the present.
    d_model : int
        Width of every hidden vector; a multiple of ``heads``.
    heads : int
        Heads of the interpretable attention.
    encoder, decoder : int
        Past bars of a window, and bars ahead it forecasts.
    dropout : float
        Share of hidden values dropped in training.
    quantiles : tuple of float
        Forecast quantiles, rising.
    batch : int
        Windows of one optimizer step.
    micro : int or None
        Windows of one forward and backward; gradients add up over the batch.  None: 16 on the
        CPU, where it saves activations at little cost in time, and the whole batch elsewhere.
    learning_rate, grad_clip : float
        Adam's step size, and the global norm gradients are scaled down to.
    seed : int
        Of the weights, the windows and the dropout.
    """

    input_dim: int | None = None
    known: tuple[str, ...] = KNOWN
    observed: tuple[str, ...] = OBSERVED
    d_model: int = 64
    heads: int = 4
    encoder: int = 60
    decoder: int = 10
    dropout: float = 0.1
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    batch: int = 64
    micro: int | None = None
    learning_rate: float = 1e-3
    grad_clip: float = 1.0
    seed: int = 1

    @property
    def n_inputs(self) -> int:
        """Scalars a bar is described by, counted from the column lists."""
        return len(STATIC_NAMES) + len(self.known) + len(self.observed)

    @property
    def window(self) -> int:
        """Bars of a window."""
        return self.encoder + self.decoder

    def micro_for(self, device: str) -> int:
        """Windows of one forward on ``device``: ``micro``, or the default described there."""
        if self.micro is not None:
            return self.micro
        return math.gcd(self.batch, 16) if device == "cpu" else self.batch

    def check(self, data: MarketData) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with ``data``."""
        m = Mismatches("tft")
        m.sizes(encoder=self.encoder, decoder=self.decoder)
        m.positive(learning_rate=self.learning_rate, grad_clip=self.grad_clip)
        if m.sizes(d_model=self.d_model, heads=self.heads):
            m.multiple("d_model", self.d_model, "heads", self.heads)
        if m.sizes(batch=self.batch) and self.micro is not None and m.sizes(micro=self.micro):
            m.multiple("batch", self.batch, "micro", self.micro)
        if not 0 <= self.dropout < 1:
            m.add(f"dropout {self.dropout} is not in [0, 1)")
        q = self.quantiles
        if not q or list(q) != sorted(set(q)) or min(q) <= 0 or max(q) >= 1:
            m.add(f"quantiles {q} do not rise strictly within 0 and 1")
        # The last training bar's return ends in the held-out part and is not a target.
        why = f"encoder {self.encoder} + decoder {self.decoder} + 1"
        m.series(data, self.window + 1, why, first_only=False)
        self._check_columns(m, data)
        m.raise_any()

    def _check_columns(self, m: Mismatches, data: MarketData) -> None:
        n = (len(STATIC_NAMES), len(self.known), len(self.observed))
        if self.input_dim is not None and self.input_dim != sum(n):
            m.add(
                f"static({n[0]}) + known({n[1]}) + observed({n[2]}) = {sum(n)} "
                f"!= input_dim({self.input_dim}): "
                f"set input_dim={sum(n)} or change the column lists"
            )
        for kind in ("known", "observed"):
            columns = getattr(self, kind)
            if not columns:
                m.add(f"{kind} names no column")
            for s in data.series:
                missing = [c for c in columns if c not in s.feature_names]
                if missing:
                    m.add(f"{s.root} has no {kind} column {', '.join(map(repr, missing))}")
        twice = sorted({c for c in self.known + self.observed if self._count(c) > 1})
        if twice:
            m.add(f"columns named twice: {', '.join(map(repr, twice))}")
        for s in data.series:
            if s.statics.shape != (n[0],):
                m.add(f"{s.root}: statics {s.statics.shape} != ({n[0]},) {STATIC_NAMES}")

    def _count(self, column: str) -> int:
        return (self.known + self.observed).count(column)
