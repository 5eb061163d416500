"""Temporal Fusion Transformer on bars: quantiles of the cumulative return over the next bars.

Lim, Arik, Loeff & Pfister 2019, "Temporal Fusion Transformers for Interpretable Multi-horizon
Time Series Forecasting" (arXiv:1912.09363), figure 2.  A window is 60 past bars, described by
columns known ahead (the clock) and columns only observed, and 10 bars ahead, of which the model
is told the known columns alone.  One step draws 64 windows from all instruments, works through
them in micro-batches whose gradients add up to the full batch's, and lets Adam update once.

Shape letters: b windows, t past bars, q bars ahead, d width; sequences are time-major, (t,b,d).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from foxbench.models.adam import Adam
from foxbench.models.common import component_bytes, seeded
from foxbench.models.configs import TftConfig
from foxbench.models.data import STATIC_NAMES, MarketData
from foxbench.models.tft_data import Windows
from foxbench.models.tft_layers import Dropout, Gate, Grn, InterpretableAttention, quantile_loss
from foxbench.models.tft_selection import VariableSelection


class Tft(nn.Module):
    """Statics, past and known future of a window -> quantiles for each bar ahead.

    Parameters
    ----------
    cfg : TftConfig
    device : str
        Where dropout masks are drawn.
    """

    def __init__(self, cfg: TftConfig, device: str = "cpu") -> None:
        super().__init__()
        d, n_known = cfg.d_model, len(cfg.known)
        drop = Dropout(cfg.dropout, torch.Generator(device).manual_seed(cfg.seed))
        self.dropout = drop
        self.static_selection = VariableSelection(len(STATIC_NAMES), d, drop)
        self.select_context, self.h0_context, self.c0_context, self.enrich_context = (
            Grn(d, d, drop) for _ in range(4)
        )
        n_past = n_known + len(cfg.observed)
        self.past_selection = VariableSelection(n_past, d, drop, context=True)
        self.ahead_selection = VariableSelection(n_known, d, drop, context=True)
        self.encoder = nn.LSTM(d, d)
        self.decoder = nn.LSTM(d, d)
        self.lstm_gate = Gate(d, d)
        self.enrichment = Grn(d, d, drop, context=True)
        self.attention = InterpretableAttention(d, cfg.heads)
        self.attention_gate = Gate(d, d)
        self.feed_forward = Grn(d, d, drop)
        self.out_gate = Gate(d, d)
        self.head = nn.Linear(d, len(cfg.quantiles))

    def forward(self, static: Tensor, past: Tensor, ahead: Tensor) -> Tensor:
        """Forecast quantiles.

        Parameters
        ----------
        static : Tensor (b, statics)
        past : Tensor (t, b, known + observed)
        ahead : Tensor (q, b, known)

        Returns
        -------
        Tensor (q, b, quantiles)
        """
        n_ahead = ahead.shape[0]
        # 1. what kind of instrument this is, and four contexts that say so to later layers
        kind, _ = self.static_selection(static)  # (b,d)
        select = self.select_context(kind)
        # 2. variables of each bar, weighed
        past, _ = self.past_selection(past, select)  # (t,b,d)
        ahead, _ = self.ahead_selection(ahead, select)  # (q,b,d)
        # 3. local processing: an LSTM over the past hands its state to one over the bars ahead
        state = (self.h0_context(kind).unsqueeze(0), self.c0_context(kind).unsqueeze(0))
        read, state = self.encoder(past, state)
        told, _ = self.decoder(ahead, state)
        selected = torch.cat([past, ahead])  # (t+q,b,d)
        local = self.lstm_gate(self.dropout(torch.cat([read, told])), selected)
        # 4. enriched by the kind of instrument
        enriched = self.enrichment(local, self.enrich_context(kind))
        # 5. each bar ahead looks back, at no bar later than itself
        asking = enriched[-n_ahead:]  # (q,b,d)
        looked_at = self.attention(asking, enriched)
        attended = self.attention_gate(self.dropout(looked_at), asking)
        # 6. position by position, with a way around all of it
        y: Tensor = self.head(self.out_gate(self.feed_forward(attended), local[-n_ahead:]))
        return y


class TftTrainer:
    """Trains :class:`Tft` on all series; see :class:`foxbench.models.protocol.Trainer`.

    Parameters
    ----------
    data : MarketData
        The last fifth of every series is used only by :meth:`evaluate`.
    cfg : TftConfig
    device : str
        ``cpu`` or ``cuda``.

    Raises
    ------
    foxbench.errors.ConfigError
        The config does not fit itself or the data.
    """

    def __init__(self, data: MarketData, cfg: TftConfig, device: str = "cpu") -> None:
        cfg.check(data)
        self.cfg, self.device = cfg, device
        self.micro = cfg.micro_for(device)
        self.rng = seeded(cfg.seed)
        self.windows = Windows(data, cfg, device)
        self.model = Tft(cfg, device).to(device)
        self.quantiles = torch.tensor(cfg.quantiles, device=device)
        self.adam = Adam(self.model.parameters(), cfg.learning_rate, grad_clip=cfg.grad_clip)

    def step(self) -> float:
        """Train on one batch of windows; returns its quantile loss, per window and bar ahead."""
        # 1. windows from all instruments
        series, starts = self.windows.draw(self.rng, self.cfg.batch)
        # 2. gradients, a few windows at a time
        loss = self.accumulate(series, starts)
        # 3. clip and update
        self.adam.step()
        return loss

    def accumulate(self, series: NDArray[np.int64], starts: NDArray[np.int64]) -> float:
        """Add the gradient of the windows' mean loss; returns that loss.

        Parameters
        ----------
        series, starts : int64 (b,)
            Which series a window is from, and its first bar.
        """
        total = torch.zeros((), device=self.device)
        for at in range(0, len(starts), self.micro):
            part = slice(at, at + self.micro)
            *inputs, target = self.windows.gather(series[part], starts[part])
            # Sums over the whole batch's count: the gradient is the full batch's, whatever micro.
            loss = quantile_loss(self.model(*inputs), target, self.quantiles)
            loss = loss / (len(starts) * self.cfg.decoder)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return float(total)

    def evaluate(self) -> dict[str, float]:
        """Scores of the held-out bars, see :func:`score`."""
        self.model.eval()
        found = score(self.model, self.windows, self.quantiles, self.micro)
        self.model.train()
        return found

    def infer(self) -> NDArray[np.float32]:
        """Quantiles (q, quantiles) ahead of the first series' last whole window, in training sd."""
        self.model.eval()
        found = forecast(self.model, self.windows, self.windows.last_start(0))
        self.model.train()
        return found

    def bytes(self) -> dict[str, int]:
        """Bytes by component; ``data`` is the chosen columns of all series, scaled."""
        return component_bytes(
            params=self.model.parameters(),
            optimizer=self.adam.tensors(),
            buffers=[self.quantiles],
            data=self.windows.tensors(),
        )

    def steps_per_epoch(self) -> int:
        """Steps whose windows ahead together hold as many bars as are trained on."""
        return max(1, self.windows.n_train_bars // (self.cfg.batch * self.cfg.decoder))


@torch.no_grad()
def forecast(model: nn.Module, windows: Windows, start: NDArray[np.int64]) -> NDArray[np.float32]:
    """Quantiles (q, quantiles), in training sd, ahead of the first series' window at ``start``."""
    *inputs, _ = windows.gather(np.zeros(1, np.int64), start)
    return np.asarray(model(*inputs)[:, 0].cpu().numpy(), dtype=np.float32)


@torch.no_grad()
def score(model: nn.Module, windows: Windows, quantiles: Tensor, micro: int) -> dict[str, float]:
    """Mean quantile loss over the held-out bars, and that of the naive forecast.

    Windows ahead do not overlap.  The naive forecast says, for each number of bars ahead,
    the quantiles of all training returns over so many bars.

    Parameters
    ----------
    micro : int
        Windows of one forward pass.

    Raises
    ------
    foxbench.errors.DataError
        No series has a whole window ahead within its held-out bars.
    """
    series, starts = windows.held_out()
    naive_forecast = windows.naive_quantiles(quantiles).unsqueeze(1)  # (q,1,quantiles)
    loss = naive = 0.0
    for at in range(0, len(starts), micro):
        part = slice(at, at + micro)
        *inputs, target = windows.gather(series[part], starts[part])
        loss += float(quantile_loss(model(*inputs), target, quantiles))
        naive += float(quantile_loss(naive_forecast, target, quantiles))
    n = len(starts) * windows.decoder
    return {"loss": loss / n, "naive_loss": naive / n}
