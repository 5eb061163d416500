"""Trend and position of the price within its recent past: 49 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import W6, Frame
from foxbench.features.rolling import Array, Pair, Sums, div, rows_since_max

_SIGNS = (15, 60, 240)
_LONG = (60, 240)

NAMES = (
    *(f"price_z_{w}" for w in W6),
    *(f"ema_distance_{w}" for w in W6),
    *(f"range_position_{w}" for w in W6),
    *(f"slope_{w}" for w in W6),
    *(f"time_corr_{w}" for w in W6),
    *(f"efficiency_{w}" for w in W6),
    *(f"mean_sign_{w}" for w in _SIGNS),
    *(f"since_high_{w}" for w in _LONG),
    *(f"since_low_{w}" for w in _LONG),
    *(f"below_high_{w}" for w in _LONG),
    *(f"above_low_{w}" for w in _LONG),
    *(f"autocorr_{w}" for w in _LONG),
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    for w in W6:
        yield f"price_z_{w}", div(f.p - f.p_moments.mean(w), f.p_moments.sd(w))
    whole = f.market.p[f.first : f.end]  # EMAs cross blocks: they need one scale for all
    for w in W6:
        yield f"ema_distance_{w}", div(whole - f.span("p", whole, w), f.body(f.unit(w)))
    for w in W6:
        low = f.lowest.over(w)
        yield f"range_position_{w}", div(f.p - low, f.highest.over(w) - low)
    for w in W6:
        yield f"slope_{w}", div(f.p_trend.slope(w) * np.sqrt(w), f.sigma(240))
    for w in W6:
        yield f"time_corr_{w}", f.p_trend.corr(w)
    for w in W6:
        yield f"efficiency_{w}", div(f.move(w), f.r_sizes.sum(w))
    signs = Sums(f.r_sign)
    for w in _SIGNS:
        yield f"mean_sign_{w}", signs.mean(w)
    for w in _LONG:
        yield f"since_high_{w}", rows_since_max(f.H, w) / w
    for w in _LONG:
        yield f"since_low_{w}", rows_since_max(-f.L, w) / w
    for w in _LONG:
        yield f"below_high_{w}", div(f.p - f.highest.over(w), f.unit(w))
    for w in _LONG:
        yield f"above_low_{w}", div(f.p - f.lowest.over(w), f.unit(w))
    pair = Pair(f.r_moments, f.r_before_moments, f.r * f.r_before)
    for w in _LONG:
        yield f"autocorr_{w}", pair.corr(w)
