"""Volume, its surprise and its agreement with the price: 28 features.

On-balance volume: Granville (1963); money flow: Chaikin; force index: Elder, Trading for a Living
(1993), here free of scale.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import W6, Frame
from foxbench.features.rolling import Array, Moments, Pair, Sums, Trend, div

_Z = (30, 60, 240)
_VWAP = (15, 60, 240)
_OBV = (60, 240)
_CHAIKIN = (20, 60)

NAMES = (
    "log_volume",
    *(f"v_m_{w}" for w in W6),
    *(f"v_z_{w}" for w in _Z),
    *(f"signed_volume_{w}" for w in W6),
    *(f"vwap_{w}" for w in _VWAP),
    *(f"obv_time_corr_{w}" for w in _OBV),
    *(f"chaikin_flow_{w}" for w in _CHAIKIN),
    *(f"volume_move_corr_{w}" for w in _OBV),
    *("force_13", "v_minus_range", "vwap_session"),
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    yield "log_volume", f.V
    for w in W6:
        yield f"v_m_{w}", f.V - f.V_moments.mean(w)
    for w in _Z:
        yield f"v_z_{w}", div(f.V - f.V_moments.mean(w), f.V_moments.sd(w))
    signed = f.r_sign * f.v
    signed_sums = Sums(signed)
    for w in W6:
        yield f"signed_volume_{w}", div(signed_sums.sum(w), f.v_sums.sum(w))
    traded = Sums(f.v * f.tp)
    for w in _VWAP:
        volume = f.v_sums.sum(w)
        # A window without a trade has no mean price, so no distance from one.
        distance = np.where(volume > 0, f.tp - div(traded.sum(w), volume), 0.0)
        yield f"vwap_{w}", div(distance, f.unit(w))
    balance = np.cumsum(signed)
    obv = Trend(balance, Moments(balance))
    for w in _OBV:
        yield f"obv_time_corr_{w}", obv.corr(w)
    located = Sums(f.clv * f.v)
    for w in _CHAIKIN:
        yield f"chaikin_flow_{w}", div(located.sum(w), f.v_sums.sum(w))
    size = np.abs(f.r)
    pair = Pair(f.V_moments, Moments(size), f.V * size)
    for w in _OBV:
        yield f"volume_move_corr_{w}", pair.corr(w)
    force = f.span("force", f.r * f.v, 13)
    usual = f.span("force_volume", f.v, 13)
    yield "force_13", div(force, usual * f.body(f.sigma(240)))
    yield "v_minus_range", f.V - np.log1p(f.range_ticks)
    yield "vwap_session", div(_session_vwap_distance(f), f.body(f.unit(240)))


def _session_vwap_distance(f: Frame) -> Array:
    """tp minus the session's volume-weighted mean price so far, over the block's own rows.

    Sums always begin at the session's first bar, which may lie before the halo.
    """
    out = np.empty(f.end - f.first)
    bars, p = f.market.bars, f.market.p
    for start, end in f.sessions():
        rows = slice(start, end)
        close = bars.close[rows] / 1e9
        typical = (bars.high[rows] / 1e9 + bars.low[rows] / 1e9 + close) / 3.0
        # Relative to the session's first bar, to keep the sums small.
        tp = p[rows] - p[start] + (np.log(typical) - np.log(close))
        v = bars.volume[rows].astype(np.float64)
        own = slice(max(start, f.first) - start, None)
        # Only the own rows from here on: numpy keeps freed blocks below 1 KiB by their size, and
        # masks over a session, one row longer every minute, would fill it with 1 MB by the evening.
        volume, paid = np.cumsum(v)[own], np.cumsum(v * tp)[own]
        distance = np.where(volume > 0, tp[own] - div(paid, volume), 0.0)
        out[max(start, f.first) - f.first : end - f.first] = distance
    return out
