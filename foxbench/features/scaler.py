"""Standardisation that never looks ahead: fitted once on the first training rows, then frozen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foxbench.errors import DataError

FIT_ROWS = 6_000
CLIP = 10.0
_CHUNK_ROWS = 8_192


@dataclass(frozen=True, eq=False)
class Scaler:
    """Mean and standard deviation of each feature over the first training rows.

    Attributes
    ----------
    mean, sd : float32 array (n_features,)
        ``sd`` is 1 where a feature did not move in those rows.
    """

    mean: NDArray[np.float32]
    sd: NDArray[np.float32]

    @classmethod
    def fit(cls, features: NDArray[np.float32], rows: int = FIT_ROWS) -> Scaler:
        """Fit on the first ``rows`` rows, warm-up rows already dropped.

        Parameters
        ----------
        features : float32 array (n_bars, n_features)
            The training part, post warm-up, e.g. ``Series.features``.
        rows : int
            How many of its first rows to use (all, when there are fewer).

        Raises
        ------
        DataError
            Fewer than two rows, or a value that is not finite.
        """
        head = features[:rows].astype(np.float64)
        if head.shape[0] < 2:
            raise DataError(
                f"a scaler needs at least 2 rows, got {head.shape[0]}", "give more bars"
            )
        if not np.isfinite(head).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(head))[0])
            raise DataError(f"features: row {row}, column {column} is not finite")
        sd = head.std(axis=0)
        # A constant column's float64 deviation may be rounding alone: compare with its size.
        still = sd <= 1e-12 * np.maximum(1.0, np.abs(head).max(axis=0))
        sd[still] = 1.0
        return cls(head.mean(axis=0).astype(np.float32), sd.astype(np.float32))

    def transform(
        self, features: NDArray[np.float32], out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """``clip((features - mean) / sd, -10, 10)``.

        Parameters
        ----------
        features : float32 array (n, n_features)
        out : float32 array of the same shape, optional
            May be ``features`` itself.
        """
        if out is None:
            out = np.empty_like(features)
        for first in range(0, features.shape[0], _CHUNK_ROWS):  # no whole-matrix temporary
            rows = slice(first, first + _CHUNK_ROWS)
            np.subtract(features[rows], self.mean, out=out[rows])
            np.divide(out[rows], self.sd, out=out[rows])
            np.clip(out[rows], -CLIP, CLIP, out=out[rows])
        return out
