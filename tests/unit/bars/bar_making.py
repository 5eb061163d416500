"""Small bars to spoil."""

import numpy as np

from foxbench.bars import Bars

NANO = 10**9
MINUTE = 60 * NANO


def make_bars(n=5, **replaced):
    """A few regular bars of ES; keyword arguments replace whole arrays."""
    close = (5600 * NANO + 250_000_000 * np.arange(n)).astype(np.int64)
    arrays = {
        "ts_event": 1_745_186_400 * NANO + MINUTE * np.arange(n, dtype=np.int64),
        "open": close,
        "high": close + 500_000_000,
        "low": close - 250_000_000,
        "close": close,
        "volume": np.arange(1, n + 1, dtype=np.uint64),
        "instrument_id": np.full(n, 42, dtype=np.uint32),
        "symbol_codes": np.zeros(n, dtype=np.int32),
    }
    rest = {"symbols": ("ESM5",), "root": "ES", "tick_nano": 250_000_000, "source": "test"}
    return Bars(**{**arrays, **rest, **replaced})


def changed(array, row, value):
    out = array.copy()
    out[row] = value
    return out
