"""Spread, price impact and informed trading, from bars alone: 22 features.

Effective spread: Roll, J. Finance 39 (1984); Corwin & Schultz, J. Finance 67 (2012); Abdi &
Ranaldo, Rev. Fin. Studies 30 (2017), shifted by a bar so that it looks back only.  Impact:
Amihud, J. Fin. Markets 5 (2002); Kyle, Econometrica 53 (1985).  VPIN with bulk classification:
Easley, Lopez de Prado & O'Hara, Rev. Fin. Studies 25 (2012).  Variance ratio: Lo & MacKinlay,
Rev. Fin. Studies 1 (1988).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import Frame
from foxbench.features.rolling import Array, Moments, Pair, Sums, div, lag

_ROLL = (30, 60, 120, 240)
_SPREAD = (30, 60, 240)
_AMIHUD = (15, 60, 240)
_KYLE = (60, 120, 240)
_VPIN = (60, 240)
_RATIO = (2, 5, 15)

NAMES = (
    *(f"roll_spread_{w}" for w in _ROLL),
    *(f"corwin_schultz_{w}" for w in _SPREAD),
    *(f"abdi_ranaldo_{w}" for w in _SPREAD),
    *(f"amihud_{w}" for w in _AMIHUD),
    *(f"kyle_{w}" for w in _KYLE),
    *(f"vpin_{w}" for w in _VPIN),
    *(f"variance_ratio_{q}" for q in _RATIO),
    "unchanged_share_60",
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    pair = Pair(f.r_moments, f.r_before_moments, f.r * f.r_before)
    for w in _ROLL:
        yield f"roll_spread_{w}", 2.0 * np.sqrt(np.maximum(0.0, -pair.cov(w)))
    spread = Sums(_corwin_schultz(f))
    for w in _SPREAD:
        yield f"corwin_schultz_{w}", spread.mean(w)
    middle = 0.5 * (f.H + f.L)
    before = lag(f.p, 1)
    product = Sums((before - lag(middle, 1)) * (before - middle))
    for w in _SPREAD:
        yield f"abdi_ranaldo_{w}", 2.0 * np.sqrt(np.maximum(0.0, product.mean(w)))
    impact = Sums(np.abs(f.r) / np.maximum(f.v, 1.0))
    for w in _AMIHUD:
        yield f"amihud_{w}", np.log1p(1e9 * impact.mean(w))
    flow = f.r_sign * np.sqrt(f.v)
    moments = Moments(flow)
    kyle = Pair(f.r_moments, moments, f.r * flow)
    for w in _KYLE:
        yield f"kyle_{w}", div(1e5 * kyle.cov(w), moments.var(w))
    z = div(f.r, f.sigma(60))
    # tanh(sqrt(2/pi) (z + .044715 z^3)) is 2 Phi(z) - 1 to 1e-3: buys minus sells, as a share.
    imbalance = f.v * np.tanh(0.79788 * (z + 0.044715 * z**3))
    informed = Sums(np.abs(Sums(imbalance).mean(5)))
    for w in _VPIN:
        yield f"vpin_{w}", div(informed.mean(w), f.v_sums.mean(w))
    for q in _RATIO:
        move = f.move(q)
        ratio = div(np.sqrt(Sums(move * move).mean(240)), np.sqrt(q) * f.sigma(240))
        yield f"variance_ratio_{q}", ratio * ratio
    yield "unchanged_share_60", Sums((f.r == 0).astype(np.float64)).mean(60)


def _corwin_schultz(f: Frame) -> Array:
    """Spread of each pair of bars, as a share of the price; negative ones count as 0."""
    squares = f.R * f.R
    beta = squares + lag(squares, 1)
    gamma = (f.highest.over(2) - f.lowest.over(2)) ** 2
    k = 3.0 - 2.0 * np.sqrt(2.0)
    alpha = (np.sqrt(2.0 * beta) - np.sqrt(beta)) / k - np.sqrt(gamma / k)
    values: Array = np.maximum(0.0, 2.0 * np.tanh(0.5 * alpha))
    return values
