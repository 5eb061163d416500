"""Volatility by close, by range and by jump-robust estimators: 40 features, per minute.

Parkinson, J. Business 53 (1980); Garman & Klass, J. Business 53 (1980); Rogers & Satchell, Ann.
Appl. Probab. 1 (1991); bipower variation: Barndorff-Nielsen & Shephard, J. Fin. Econometrics 2
(2004); average true range: Wilder (1978).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import W6, Frame
from foxbench.features.rolling import TINY, Array, Moments, Sums, div

_SATCHELL = (5, 15, 30, 60)
_LONG = (30, 60, 120, 240)
_RATIOS = ((5, 60), (15, 240), (60, 480))
_LN2 = float(np.log(2.0))

NAMES = (
    *(f"sigma_{w}" for w in W6),
    *(f"parkinson_{w}" for w in W6),
    *(f"garman_klass_{w}" for w in W6),
    *(f"rogers_satchell_{w}" for w in _SATCHELL),
    *(f"bipower_{w}" for w in _LONG),
    *(f"jump_share_{w}" for w in _LONG),
    *(f"downside_share_{w}" for w in _LONG),
    *("sigma_spread_60", "sigma_spread_240"),
    *(f"sigma_ratio_{a}_{b}" for a, b in _RATIOS),
    "atr_14",
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    for w in W6:
        yield f"sigma_{w}", f.sigma(w)
    squares = Sums(f.R * f.R)
    for w in W6:
        yield f"parkinson_{w}", np.sqrt(squares.mean(w) / (4.0 * _LN2))
    body = f.close - f.open
    garman = Sums(0.5 * f.R * f.R - (2.0 * _LN2 - 1.0) * body * body)
    for w in W6:
        yield f"garman_klass_{w}", np.sqrt(np.maximum(garman.mean(w), 0.0))
    satchell = Sums((f.high - f.close) * (f.high - f.open) + (f.low - f.close) * (f.low - f.open))
    for w in _SATCHELL:
        yield f"rogers_satchell_{w}", np.sqrt(np.maximum(satchell.mean(w), 0.0))
    products = Sums(np.abs(f.r) * np.abs(f.r_before))
    bipower = {w: np.sqrt(0.5 * np.pi * products.mean(w)) for w in _LONG}
    for w in _LONG:
        yield f"bipower_{w}", bipower[w]
    for w in _LONG:
        share = 1.0 - div(bipower[w], f.sigma(w)) ** 2
        # Without any movement there is no jump either.
        yield f"jump_share_{w}", np.where(f.sigma(w) > TINY, np.clip(share, 0.0, 1.0), 0.0)
    falls = Sums(np.where(f.r < 0, f.r * f.r, 0.0))
    for w in _LONG:
        yield f"downside_share_{w}", div(np.sqrt(falls.mean(w)), f.sigma(w))
    spread = Moments(f.sigma(15))
    for w in (60, 240):
        yield f"sigma_spread_{w}", div(spread.sd(w), f.sigma(w))
    for a, b in _RATIOS:
        yield f"sigma_ratio_{a}_{b}", div(f.sigma(a), f.sigma(b))
    yield "atr_14", f.wilder("TR", f.TR, 14)
