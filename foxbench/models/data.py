"""What a trainer trains on: features, returns and the few statics of each instrument.

Knows no torch, so that a config can be checked against it before torch is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: One bar in so many, the last ones, is held out for ``Trainer.evaluate``.
HELD_OUT = 5

STATIC_NAMES = ("tick_bp", "log_mean_volume", "sigma_day", "asset_class", "session_length")


def train_bars(n_bars: int) -> int:
    """Bars that are trained on, from the first; the last fifth of ``n_bars`` is held out."""
    return n_bars - n_bars // HELD_OUT


@dataclass(frozen=True)
class Series:
    """One instrument's training data, warm-up rows already dropped.

    Attributes
    ----------
    root : str
        ``ES``, ``NQ``, ``6E``, ``ZN`` or the user's own.
    features : float32 array (n_bars, n_features)
        Raw (unscaled) causal features, columns in the order of ``feature_names``.
    feature_names : tuple of str
    returns : float32 array (n_bars,)
        ``returns[t]`` is the log return from bar t's close to bar t+1's close.  The last bar has
        no next bar: its return is 0 and trainers do not use it.
    statics : float32 array (5,)
        In the order of ``STATIC_NAMES``.
    """

    root: str
    features: NDArray[np.float32]
    feature_names: tuple[str, ...]
    returns: NDArray[np.float32]
    statics: NDArray[np.float32]

    @property
    def n_bars(self) -> int:
        """Rows of ``features``."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of ``features``."""
        return int(self.features.shape[1])


@dataclass(frozen=True)
class MarketData:
    """All series a trainer may draw from; single-series models use the first."""

    series: tuple[Series, ...]

    @property
    def first(self) -> Series:
        """The series a single-series model trains on."""
        return self.series[0]
