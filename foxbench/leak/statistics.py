"""The two statistics of the leak test, of scipy: whether a series rises, and how steeply."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Of the one-sided bounds of the slope.
BOUND_CONFIDENCE = 0.99

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slope:
    """A Theil-Sen slope and the bounds it lies above and below, each 99 % certain alone.

    Attributes
    ----------
    value, lower, upper : float
        Units of y per unit of x.
    """

    value: float
    lower: float
    upper: float


def mann_kendall(y: Floats) -> float:
    """The z of the Mann-Kendall test for a trend, corrected for ties.

    Kendall's tau against time, and its p value in units of the normal distribution (Mann 1945;
    Kendall 1975, ch. 4).  Independent values assumed: a random walk gives large z too.

    Parameters
    ----------
    y : float64 (n,)
        In the order of time.

    Returns
    -------
    float
        Positive for a rise; 0 for a series that never moves.
    """
    from scipy.stats import kendalltau, norm

    if len(y) < 2 or np.all(y == y[0]):
        return 0.0
    found = kendalltau(np.arange(len(y)), y, method="asymptotic")
    return math.copysign(float(norm.isf(found.pvalue / 2)), found.statistic)


def theil_sen(x: Floats, y: Floats) -> Slope:
    """The median of the slopes of all pairs, with Sen's bounds (Sen 1968).

    Parameters
    ----------
    x, y : float64 (n,)
        ``x`` without ties.
    """
    from scipy.stats import theilslopes

    # A two-sided interval of 98 % leaves 1 % on each side.
    found = theilslopes(y, x, alpha=2 * BOUND_CONFIDENCE - 1)
    return Slope(float(found.slope), float(found.low_slope), float(found.high_slope))


def confidence(z: float) -> float:
    """How sure a z is that the series rises, were its values independent: 0.5 for none."""
    from scipy.special import ndtr

    return float(ndtr(z))
