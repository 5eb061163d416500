from dataclasses import replace

import numpy as np
import pytest

from foxbench.bars.synthetic import synthetic
from foxbench.features import compute


@pytest.fixture(scope="session")
def month():
    """30,360 bars of ES over a quarterly roll: two blocks."""
    return synthetic("ES", days=30, start="2025-06-02")


@pytest.fixture(scope="session")
def month_features(month):
    return compute(month)


@pytest.fixture(scope="session")
def rough():
    """A few hundred bars with all that is awkward: a roll, a new session, holes, a still market.

    Forty flat bars without volume stand in the middle.
    """
    bars = synthetic("6E", days=4, start="2025-06-10")[2200:3100]
    still = slice(500, 540)
    arrays = {name: getattr(bars, name).copy() for name in ("open", "high", "low", "close")}
    for array in arrays.values():
        array[still] = bars.close[499]
    volume = bars.volume.copy()
    volume[still] = 0
    bars = replace(bars, volume=volume, **arrays)
    kept = np.delete(np.arange(len(bars)), [100, 101, 102, 300, 700])
    names = ("ts_event", *arrays, "volume", "instrument_id", "symbol_codes")
    return replace(bars, **{name: getattr(bars, name)[kept] for name in names})
