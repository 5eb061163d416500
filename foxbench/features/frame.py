"""What the feature groups read: one block of bars with its halo, and what they share of it.

Notation (as in the groups' docstrings): x~ = ln x; r = log return, taken from the bar's own open
where the contract rolls; p = running sum of r, a continuous price that uses no later data (it is
never back-adjusted); H, L, O = high, low, open on the scale of p; R = high minus low in logs;
TR = true range; V = ln(1 + volume); sigma(w) = sqrt(mean of r^2 over w rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foxbench.bars import calendar
from foxbench.bars.scan import scan
from foxbench.bars.schema import Bars
from foxbench.features.rolling import Array, Extremes, Moments, Sums, Trend, lag, lag_zero

#: Windows (in bars) of the features that come in six.
W6 = (5, 15, 30, 60, 120, 240)


class Market:
    """Whole-series state: the continuous price and the sessions (26 bytes a bar)."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        log_close = logs(bars.close)
        before = np.empty_like(log_close)
        before[1:] = log_close[:-1]
        fresh = np.zeros(len(bars), dtype=np.bool_)
        fresh[0] = True
        fresh[1:] = bars.instrument_id[1:] != bars.instrument_id[:-1]
        before[fresh] = logs(bars.open[fresh])
        #: log return of each bar
        self.r: Array = log_close - before
        #: continuous log price
        self.p: Array = np.cumsum(self.r)
        #: trade date, days since 1970-01-01
        self.date: NDArray[np.int64] = calendar.trade_date(bars.ts_event)
        #: first row of each session
        self.starts: NDArray[np.int64] = calendar.session_starts(self.date)


class Frame:
    """Rows ``[first - halo, end)`` of a market; groups return arrays over these rows.

    The halo gives every window of the block its past.  Recursive means (EMA) have an endless
    past: they run over the block's own rows alone, from the value the last block left.

    Parameters
    ----------
    market : Market
    first, end : int
        The block's rows.
    halo : int
        Rows before ``first`` that are there too.
    carried : dict
        Last values of the EMAs; read and replaced.
    """

    def __init__(
        self, market: Market, first: int, end: int, halo: int, carried: dict[str, float]
    ) -> None:
        self.market, self.first, self.end, self.halo = market, first, end, halo
        self._carried = carried
        rows = slice(first - halo, end)
        bars = market.bars[rows]
        self.ts_event = bars.ts_event
        self.tick = bars.tick_nano / 1e9
        self.open, self.high, self.low, self.close = (
            logs(x) for x in (bars.open, bars.high, bars.low, bars.close)
        )
        self.range_ticks = (bars.high - bars.low) / bars.tick_nano
        self.body_sign = np.sign(bars.close - bars.open).astype(np.float64)
        self.typical = np.log(
            (bars.high / 1e9 + bars.low / 1e9 + bars.close / 1e9) / 3.0
        )  # tp, in logs
        self.v = bars.volume.astype(np.float64)
        self.r = market.r[rows]
        # Relative to the halo's first row: smaller numbers, less rounding in the sums of squares.
        self.p = market.p[rows] - market.p[rows.start]
        self.date = market.date[rows]
        self._sigmas: dict[int, Array] = {}

    def body(self, x: Array) -> Array:
        """The block's own rows of an array that may have the halo before them."""
        return x[x.shape[0] - (self.end - self.first) :]

    def sessions(self) -> Iterator[tuple[int, int]]:
        """First row (of the whole series) and end, cut at the block's, of its sessions."""
        starts = self.market.starts
        begin = int(np.searchsorted(starts, self.first, side="right")) - 1
        for i in range(begin, len(starts)):
            if starts[i] >= self.end:
                return
            after = int(starts[i + 1]) if i + 1 < len(starts) else self.end
            yield int(starts[i]), min(after, self.end)

    def ema(self, key: str, x: Array, alpha: float) -> Array:
        """Exponential mean over the block's own rows; the first value is the first input.

        Parameters
        ----------
        key : str
            Under which the last value is carried to the next block.
        x : float64 array
        alpha : float
            Weight of the newest row: 2/(n+1) for span n, 1/n for Wilder's.
        """
        x = self.body(x)
        out = scan(alpha * x, 1.0 - alpha, self._carried.get(key, float(x[0])))
        self._carried[key] = float(out[-1])
        return out

    def wilder(self, key: str, x: Array, n: int) -> Array:
        """Wilder's mean (New Concepts in Technical Trading Systems, 1978): alpha = 1/n."""
        return self.ema(f"{key}/wilder{n}", x, 1.0 / n)

    def span(self, key: str, x: Array, n: int) -> Array:
        """Exponential mean of span n: alpha = 2/(n+1)."""
        return self.ema(f"{key}/span{n}", x, 2.0 / (n + 1.0))

    def change(self, key: str, x: Array) -> Array:
        """``x[t] - x[t-1]`` of an EMA's output, across blocks; 0 at the first row of all."""
        before = np.empty_like(x)
        before[0] = self._carried.get(f"{key}/last", float(x[0]))
        before[1:] = x[:-1]
        self._carried[f"{key}/last"] = float(x[-1])
        return x - before

    def sigma(self, window: int) -> Array:
        """sqrt of the mean of r^2 over ``window`` rows."""
        if window not in self._sigmas:
            self._sigmas[window] = np.sqrt(self.r_squares.mean(window))
        return self._sigmas[window]

    def unit(self, window: int) -> Array:
        """sigma(240) * sqrt(window): a usual move over ``window`` bars."""
        values: Array = self.sigma(240) * np.sqrt(window)
        return values

    @cached_property
    def p_before(self) -> Array:
        """The previous close on the scale of p."""
        values: Array = self.p - self.r
        return values

    @cached_property
    def H(self) -> Array:
        """High on the scale of p."""
        values: Array = self.p + (self.high - self.close)
        return values

    @cached_property
    def L(self) -> Array:
        """Low on the scale of p."""
        values: Array = self.p + (self.low - self.close)
        return values

    @cached_property
    def tp(self) -> Array:
        """Typical price (h + l + c)/3 on the scale of p."""
        values: Array = self.p + (self.typical - self.close)
        return values

    @cached_property
    def R(self) -> Array:
        """High minus low in logs."""
        return self.high - self.low

    @cached_property
    def TR(self) -> Array:
        """True range: the previous close counts as part of the bar."""
        return np.maximum(self.H, self.p_before) - np.minimum(self.L, self.p_before)

    @cached_property
    def clv(self) -> Array:
        """Close location in [-1, 1]: ((c - l) - (h - c)) / (h - l) in logs."""
        inside = np.where(self.R > 0, self.R, 1.0)
        return ((self.close - self.low) - (self.high - self.close)) / inside

    @cached_property
    def V(self) -> Array:
        """ln(1 + volume)."""
        return np.log1p(self.v)

    @cached_property
    def r_before(self) -> Array:
        """The previous bar's return; 0 at the first."""
        return lag_zero(self.r, 1)

    @cached_property
    def r_sign(self) -> Array:
        """Sign of r."""
        return np.sign(self.r)

    @cached_property
    def r_squares(self) -> Sums:
        """Sums of r^2."""
        return Sums(self.r * self.r)

    @cached_property
    def r_sizes(self) -> Sums:
        """Sums of |r|."""
        return Sums(np.abs(self.r))

    @cached_property
    def r_moments(self) -> Moments:
        """Moments of r."""
        return Moments(self.r)

    @cached_property
    def r_before_moments(self) -> Moments:
        """Moments of the previous r."""
        return Moments(self.r_before)

    @cached_property
    def p_moments(self) -> Moments:
        """Moments of p."""
        return Moments(self.p)

    @cached_property
    def p_trend(self) -> Trend:
        """Trend of p."""
        return Trend(self.p, self.p_moments)

    @cached_property
    def v_sums(self) -> Sums:
        """Sums of volume."""
        return Sums(self.v)

    @cached_property
    def V_moments(self) -> Moments:
        """Moments of V."""
        return Moments(self.V)

    @cached_property
    def highest(self) -> Extremes:
        """Rolling maxima of H."""
        return Extremes(self.H, largest=True)

    @cached_property
    def lowest(self) -> Extremes:
        """Rolling minima of L."""
        return Extremes(self.L, largest=False)

    def move(self, k: int) -> Array:
        """``p[t] - p[t-k]``."""
        values: Array = self.p - lag(self.p, k)
        return values


def logs(prices: NDArray[np.int64]) -> Array:
    """Natural logarithm of prices given in units of 1e-9."""
    return np.log(prices / 1e9)
