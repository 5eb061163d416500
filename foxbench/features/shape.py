"""Shape of one bar: 15 features, in logs unless said otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foxbench.features.frame import Frame
from foxbench.features.rolling import Array, div

NAMES = (
    *("body", "high_minus_open", "low_minus_open", "range", "upper_shadow", "lower_shadow"),
    *("body_share", "upper_share", "lower_share", "clv", "gap", "log_range_ticks"),
    *("body_sign", "true_range", "typical_minus_close"),
)


def columns(f: Frame) -> Iterator[tuple[str, Array]]:
    """Name and values of each feature, in the order of ``NAMES``."""
    body = f.close - f.open
    upper = f.high - np.maximum(f.open, f.close)
    lower = np.minimum(f.open, f.close) - f.low
    yield "body", body
    yield "high_minus_open", f.high - f.open
    yield "low_minus_open", f.low - f.open
    yield "range", f.R
    yield "upper_shadow", upper
    yield "lower_shadow", lower
    yield "body_share", div(body, f.R)
    yield "upper_share", div(upper, f.R)
    yield "lower_share", div(lower, f.R)
    yield "clv", f.clv
    # c~ - p_before is the previous close on this contract's scale: at a roll, this bar's open.
    yield "gap", f.r - body
    yield "log_range_ticks", np.log1p(f.range_ticks)
    yield "body_sign", f.body_sign
    yield "true_range", f.TR
    yield "typical_minus_close", f.typical - f.close
