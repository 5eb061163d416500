"""Indicators of technical analysis, made free of scale: 24 features.

RSI, DI, ADX: Wilder, New Concepts in Technical Trading Systems (1978); CCI: Lambert,
Commodities (1980); ultimate oscillator: Williams, Stocks & Commodities (1985); the others by
their common definitions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import Frame
from foxbench.features.rolling import (
    Array,
    Sums,
    counts,
    div,
    lag,
    rows_since_max,
)

_RSI = (7, 14, 28)
_MACD = ((12, 26, 9), (24, 52, 18))

NAMES = (
    *(f"rsi_{n}" for n in _RSI),
    *(f"macd_{part}_{slow}" for _, slow, _ in _MACD for part in ("line", "signal", "histogram")),
    *("bollinger_width_20", "bollinger_position_20", "plus_di_14", "minus_di_14", "adx_14"),
    *("cci_20", "aroon_25", "money_flow_14", "stochastic_14", "stochastic_mean_14_3"),
    *("ultimate_7_14_28", "trix_15", "donchian_width_20", "donchian_position_20", "chande_14"),
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    up, down = np.maximum(f.r, 0.0), np.maximum(-f.r, 0.0)
    for n in _RSI:
        u, d = f.wilder("up", up, n), f.wilder("down", down, n)
        yield f"rsi_{n}", div(u - d, u + d)
    yield from _macd(f)
    mean, sd = f.p_moments.mean(20), f.p_moments.sd(20)
    yield "bollinger_width_20", div(4.0 * sd, f.unit(20))
    yield "bollinger_position_20", div(f.p - (mean - 2.0 * sd), 4.0 * sd)
    yield from _directional(f)
    yield "cci_20", _cci(f, 20)
    yield "aroon_25", (rows_since_max(-f.L, 25) - rows_since_max(f.H, 25)) / 25.0
    flow = np.sign(f.tp - lag(f.tp, 1)) * f.v
    yield "money_flow_14", div(Sums(flow).sum(14), f.v_sums.sum(14))
    low = f.lowest.over(14)
    stochastic = div(f.p - low, f.highest.over(14) - low)
    yield "stochastic_14", stochastic
    yield "stochastic_mean_14_3", Sums(stochastic).mean(3)
    yield "ultimate_7_14_28", _ultimate(f)
    smooth = f.market.p[f.first : f.end]
    for pass_ in ("trix_1", "trix_2", "trix_3"):
        smooth = f.span(pass_, smooth, 15)
    yield "trix_15", div(f.change("trix_3", smooth), f.body(f.sigma(240)))
    high, low = f.highest.over(20), f.lowest.over(20)
    yield "donchian_width_20", div(high - low, f.unit(20))
    yield "donchian_position_20", div(f.p - low, high - low)
    yield "chande_14", div(Sums(f.r).sum(14), f.r_sizes.sum(14))


def _macd(f: Frame) -> Iterator[tuple[str, Array]]:
    whole = f.market.p[f.first : f.end]
    for fast, slow, signal_span in _MACD:
        unit = f.body(f.unit(slow))
        line = f.span("macd_p", whole, fast) - f.span("macd_p", whole, slow)
        signal = f.span(f"macd_{slow}", line, signal_span)
        yield f"macd_line_{slow}", div(line, unit)
        yield f"macd_signal_{slow}", div(signal, unit)
        yield f"macd_histogram_{slow}", div(line - signal, unit)


def _directional(f: Frame) -> Iterator[tuple[str, Array]]:
    rise, fall = f.H - lag(f.H, 1), lag(f.L, 1) - f.L
    plus = f.wilder("dm_plus", np.where((rise > fall) & (rise > 0), rise, 0.0), 14)
    minus = f.wilder("dm_minus", np.where((fall > rise) & (fall > 0), fall, 0.0), 14)
    true_range = f.wilder("dm_TR", f.TR, 14)
    plus_di, minus_di = div(plus, true_range), div(minus, true_range)
    yield "plus_di_14", plus_di
    yield "minus_di_14", minus_di
    yield "adx_14", f.wilder("dx", div(np.abs(plus_di - minus_di), plus_di + minus_di), 14)


def _cci(f: Frame, window: int) -> Array:
    mean = Sums(f.tp).mean(window)
    deviation = np.zeros_like(mean)
    for k in range(min(window, len(mean))):
        deviation[k:] += np.abs(f.tp[: len(mean) - k] - mean[k:])
    deviation /= counts(len(mean), window)
    return div(f.tp - mean, 0.015 * deviation)


def _ultimate(f: Frame) -> Array:
    pressure = Sums(f.p - np.minimum(f.L, f.p_before))
    true_range = Sums(f.TR)
    parts = [div(pressure.sum(w), true_range.sum(w)) for w in (7, 14, 28)]
    return (4.0 * parts[0] + 2.0 * parts[1] + parts[2]) / 7.0
