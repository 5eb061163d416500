"""The TFT's windows: chosen columns of all series, side by side on one device.

The model reads 9 of the 225 features, so they are copied and scaled once (36 bytes a bar), where
the wide models scale what they gather.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foxbench.errors import DataError
from foxbench.models.common import Bars
from foxbench.models.configs import TftConfig
from foxbench.models.data import HELD_OUT, MarketData, train_bars


class Windows:
    """Windows of ``encoder`` past bars and ``decoder`` bars ahead.

    A window that starts at bar s looks back from bar s + encoder - 1, "now".  Step k ahead
    (k = 1 ... decoder) is bar now + k; its target is the return from now's close to that bar's,
    in standard deviations of its series' one-bar training returns.

    Parameters
    ----------
    data : MarketData
    cfg : TftConfig
        Checked against ``data``.
    device : str
    """

    def __init__(self, data: MarketData, cfg: TftConfig, device: str) -> None:
        self.encoder, self.decoder = cfg.encoder, cfg.decoder
        self.n_known = len(cfg.known)
        self.device = device
        columns = cfg.known + cfg.observed
        x, r = [], []
        for series in data.series:
            index = [series.feature_names.index(c) for c in columns]
            few = dataclasses.replace(
                series, features=series.features[:, index], feature_names=columns
            )
            bars = Bars(few, device)
            x.append(bars.scale(bars.x, out=bars.x))  # bars.x is a copy here, made just above
            r.append(bars.r)
        self.n = np.array([len(part) for part in r])
        self.n_train = np.array([train_bars(s.n_bars) for s in data.series])
        self.offset = np.concatenate([[0], np.cumsum(self.n)[:-1]])
        self.x = torch.cat(x)  # (all bars, known + observed)
        self.r = torch.cat(r)  # (all bars,)
        self.static = torch.from_numpy(scaled_statics(data)).to(device)  # (series, statics)

    @property
    def window(self) -> int:
        """Bars of a window."""
        return self.encoder + self.decoder

    @property
    def n_train_bars(self) -> int:
        """Training bars of all series."""
        return int(self.n_train.sum())

    def draw(self, rng: np.random.Generator, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Series and first bars of ``n`` random windows that lie in the training bars."""
        series = rng.integers(0, len(self.n), n)
        return series, rng.integers(0, self.n_train[series] - self.window + 1)

    def held_out(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Series and first bars of windows whose targets cover the held-out bars once."""
        starts = [
            np.arange(n_train, n - self.decoder, self.decoder) - (self.encoder - 1)
            for n, n_train in zip(self.n, self.n_train, strict=True)
        ]
        counts = [len(s) for s in starts]
        if not sum(counts):
            raise DataError(
                f"no series has the {self.decoder + 1} held-out bars that one forecast needs",
                f"give at least {HELD_OUT * (self.decoder + 1)} bars",
            )
        return np.repeat(np.arange(len(starts)), counts), np.concatenate(starts)

    def last_start(self, series: int) -> NDArray[np.int64]:
        """First bar (1,) of the last whole window of one series."""
        return np.array([self.n[series] - self.window])

    def gather(
        self, series: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Inputs and targets of b windows.

        Returns
        -------
        static : float32 (b, statics)
        past : float32 (encoder, b, known + observed)
        ahead : float32 (decoder, b, known)
            Nothing observed is in it.
        target : float32 (decoder, b)
            Cumulative returns.
        """
        first = self.offset[series] + starts
        bars = self._index(first + np.arange(self.window)[:, None])
        past = self.x[bars[: self.encoder]]
        ahead = self.x[bars[self.encoder :], : self.n_known]
        # The return of a bar ends at the next bar's close: those of "now" and on are ahead.
        target = self.r[bars[self.encoder - 1 : -1]].cumsum(0)
        return self.static[self._index(series)], past, ahead, target

    def naive_quantiles(self, quantiles: Tensor) -> Tensor:
        """Quantiles (decoder, quantiles) of all training returns over 1 ... decoder bars."""
        sums = []
        for offset, n_train in zip(self.offset, self.n_train, strict=True):
            # The last training bar's return ends in the held-out part.
            total = self.r[offset : offset + n_train - 1].double().cumsum(0)
            total = torch.cat([total.new_zeros(1), total])
            sums.append([(total[k:] - total[:-k]).cpu() for k in range(1, self.decoder + 1)])
        q = quantiles.cpu().numpy()
        rows = [np.quantile(torch.cat(step).numpy(), q) for step in zip(*sums, strict=True)]
        return torch.from_numpy(np.stack(rows)).to(quantiles)

    def tensors(self) -> list[Tensor]:
        """All that is kept."""
        return [self.x, self.r, self.static]

    def _index(self, index: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(index)).to(self.device)


def scaled_statics(data: MarketData) -> NDArray[np.float32]:
    """Statics (series, 5), each scaled over the series; one that they share is 0."""
    raw = np.stack([s.statics for s in data.series]).astype(np.float64)
    sd = raw.std(0)
    centred = raw - raw.mean(0)
    scaled = np.divide(centred, sd, out=np.zeros_like(raw), where=sd > 1e-12)
    return np.asarray(scaled, dtype=np.float32)
