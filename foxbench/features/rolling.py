"""Rolling kernels: sums, moments, correlations, extremes, all by whole-array operations.

Every window ends at its own row and holds fewer rows at the array's start (expanding).  Sums are
differences of running sums and extremes come from doubling, so the cost does not grow with the
window (O(N log w) for extremes), and a row's bits do not depend on the rows after it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Divisors up to this size count as zero.
TINY = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def div(a: Array | float, b: Array) -> Array:
    """``a / b``, and 0 where ``|b| <= 1e-12``."""
    return np.divide(a, b, out=np.zeros_like(b), where=np.abs(b) > TINY)


@lru_cache(maxsize=64)
def counts(n: int, window: int) -> Array:
    """Rows in each window: 1, 2, ... window, window, ...  Read-only."""
    values: Array = np.minimum(np.arange(1.0, n + 1), float(window))
    values.flags.writeable = False
    return values


def lag(x: Array, k: int) -> Array:
    """``x[t-k]``; the first row's value where there is no such row."""
    out = np.empty_like(x)
    out[:k] = x[0]
    out[k:] = x[: max(0, x.shape[0] - k)]
    return out


def lag_zero(x: Array, k: int) -> Array:
    """``x[t-k]``; 0 where there is no such row."""
    out = np.zeros_like(x)
    out[k:] = x[: max(0, x.shape[0] - k)]
    return out


class Sums:
    """Sums and means of one series over any window, from one running sum."""

    def __init__(self, x: Array) -> None:
        self.n = x.shape[0]
        self.running = np.empty(self.n + 1)
        self.running[0] = 0.0
        np.cumsum(x, out=self.running[1:])

    def sum(self, window: int) -> Array:
        """Sum over the last ``window`` rows."""
        out: Array = self.running[1:].copy()
        if window < self.n:
            out[window:] -= self.running[1 : self.n - window + 1]
        return out

    def mean(self, window: int) -> Array:
        """Mean over the last ``window`` rows."""
        out = self.sum(window)
        out /= counts(self.n, window)
        return out


class Moments:
    """Mean, variance and standard deviation (both of the population) over any window."""

    def __init__(self, x: Array) -> None:
        self.first = Sums(x)
        self.second = Sums(x * x)

    def mean(self, window: int) -> Array:
        """Mean over the last ``window`` rows."""
        return self.first.mean(window)

    def var(self, window: int) -> Array:
        """Variance; exactly 0 where it is no larger than the rounding of its own sums."""
        mean = self.first.mean(window)
        out = self.second.mean(window)
        out -= mean * mean
        # The difference of two running sums is off by about eps times the sum itself.
        rounding = (8.0 * _EPS) * self.second.running[1:] / counts(self.first.n, window)
        out[out <= rounding] = 0.0
        return out

    def sd(self, window: int) -> Array:
        """Standard deviation over the last ``window`` rows."""
        return np.sqrt(self.var(window))


class Pair:
    """Covariance and correlation of two series over any window."""

    def __init__(self, x: Moments, y: Moments, product: Array) -> None:
        self.x, self.y = x, y
        self.product = Sums(product)

    def cov(self, window: int) -> Array:
        """Covariance (of the population) over the last ``window`` rows."""
        return self.product.mean(window) - self.x.mean(window) * self.y.mean(window)

    def corr(self, window: int) -> Array:
        """Correlation in [-1, 1]; 0 where either series does not move."""
        # One guarded division after the other: the product of two small deviations would fall
        # under the guard although neither does.
        ratio = div(div(self.cov(window), self.x.sd(window)), self.y.sd(window))
        return np.clip(ratio, -1.0, 1.0)


class Trend:
    """Least-squares slope and correlation of a series against time over any window."""

    def __init__(self, x: Array, moments: Moments) -> None:
        self.moments = moments
        self.row = np.arange(float(x.shape[0]))
        self.product = Sums(self.row * x)

    def _cov(self, window: int) -> Array:
        middle = self.row - 0.5 * (counts(self.moments.first.n, window) - 1.0)
        return self.product.mean(window) - middle * self.moments.mean(window)

    def slope(self, window: int) -> Array:
        """Slope per row; 0 in a window of one row."""
        n = counts(self.moments.first.n, window)
        return div(self._cov(window), (n * n - 1.0) / 12.0)

    def corr(self, window: int) -> Array:
        """Correlation with time in [-1, 1]; 0 where the series does not move."""
        n = counts(self.moments.first.n, window)
        ratio = div(div(self._cov(window), self.moments.sd(window)), np.sqrt((n * n - 1.0) / 12.0))
        return np.clip(ratio, -1.0, 1.0)


class Extremes:
    """Rolling maximum (or minimum) over any window, by doubling.

    Level k holds the extreme of the last 2**k rows; a window is covered by two overlapping ones.
    """

    def __init__(self, x: Array, largest: bool) -> None:
        self._pick = np.maximum if largest else np.minimum
        self._levels = [x]

    def over(self, window: int) -> Array:
        """Extreme of the last ``window`` rows."""
        top = window.bit_length() - 1
        while len(self._levels) <= top:
            self._levels.append(self._joined(self._levels[-1], 1 << (len(self._levels) - 1)))
        return self._joined(self._levels[top], window - (1 << top))

    def _joined(self, level: Array, shift: int) -> Array:
        out: Array = level.copy()
        if 0 < shift < level.shape[0]:
            self._pick(level[shift:], level[:-shift], out=out[shift:])
        return out


def rows_since_max(x: Array, window: int) -> Array:
    """Rows since the maximum of the last ``window`` rows; 0 is this row, ties go to the latest."""
    value, row = x, np.arange(float(x.shape[0]))
    span = 1
    while span < window:
        shift = min(span, window - span)
        if shift >= x.shape[0]:
            break
        older = value[shift:] < value[:-shift]
        value = np.concatenate((value[:shift], np.where(older, value[:-shift], value[shift:])))
        row = np.concatenate((row[:shift], np.where(older, row[:-shift], row[shift:])))
        span += shift
    return np.arange(float(x.shape[0])) - row
