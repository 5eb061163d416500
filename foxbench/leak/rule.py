"""When a gauge counts as rising: three conditions, on the minima of blocks.

The minimum of a block of readings turns away whatever is held for a while and given back.  Of the
minima, (1) Mann-Kendall says that they rise, (2) every quarter of them rises, none by much less
than the mean: a single step and a warm-up that saturates rise in some quarters only, and (3) the
Theil-Sen slope is surely above a threshold.

Where the numbers come from: simulations of spikes, noise, random walks, warm-ups, steps and quiet
leaks, and real training loops with and without planted leaks; see docs/leak.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foxbench.leak.statistics import Floats, Slope, mann_kendall, theil_sen

#: Fewer readings give no verdict: 45 are left after the warm-up, two a block.
MIN_READINGS = 60

#: The part of the readings that is dropped from the front.
WARM_UP = 0.25

BLOCKS = 24
QUARTERS = 4

#: Mann-Kendall's z above which a series rises: one in a thousand of independent ones.
Z_THRESHOLD = 3.1

#: Begins the reason of the third condition.
TOO_FLAT = "too flat"

#: The least rise of a quarter, as a share of the mean of all.
QUARTER_SHARE = 0.5


@dataclass(frozen=True)
class Trend:
    """What the rule found in one series.

    Attributes
    ----------
    n : int
        Readings, those dropped from the front included.
    slope : Slope
        Units of the gauge per unit of time.
    threshold : float
        What the slope's lower bound was compared with.
    z : float
        Of Mann-Kendall.
    quarter_rises : tuple of float
        Between the medians of successive quarters.
    rises : bool
        Whether all three conditions hold.
    turned_away : str or None
        The first condition that does not hold.
    """

    n: int
    slope: Slope
    threshold: float
    z: float
    quarter_rises: tuple[float, ...]
    rises: bool
    turned_away: str | None


def judge(time: Floats, values: Floats, threshold: float) -> Trend:
    """Apply the rule to readings one by one, a step or another equal time apart.

    Parameters
    ----------
    time : float64 (n,)
        Ascending; the number of the step.
    values : float64 (n,)
        n at least ``MIN_READINGS``.
    threshold : float
        Least lower bound of the slope that counts, in units of ``values`` per unit of ``time``.
    """
    n_dropped = int(len(values) * WARM_UP)
    blocks = np.array_split(values[n_dropped:], BLOCKS)
    centres = np.array([part.mean() for part in np.array_split(time[n_dropped:], BLOCKS)])
    return judge_minima(centres, np.array([b.min() for b in blocks]), threshold, len(values))


def judge_minima(time: Floats, minima: Floats, threshold: float, n: int) -> Trend:
    """Apply the three conditions to ``BLOCKS`` minima; ``n`` readings are behind them."""
    z = mann_kendall(minima)
    slope = theil_sen(time, minima)
    medians = [float(np.median(part)) for part in np.array_split(minima, QUARTERS)]
    rises = tuple(np.diff(medians).tolist())
    turned_away = None
    if z <= Z_THRESHOLD:
        turned_away = f"no rise beyond chance: z {z:.1f}, a rise has more than {Z_THRESHOLD}"
    elif min(rises) < QUARTER_SHARE * sum(rises) / len(rises):
        turned_away = "not in every quarter: it rose in jumps, or levels off"
    elif slope.lower < threshold:
        surely, least = _figure(slope.lower), _figure(threshold)
        turned_away = f"{TOO_FLAT}: surely {surely}, a rise has at least {least}"
    return Trend(
        n=n,
        slope=slope,
        threshold=threshold,
        z=z,
        quarter_rises=rises,
        rises=turned_away is None,
        turned_away=turned_away,
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
