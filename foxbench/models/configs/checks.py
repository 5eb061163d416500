"""What the checks of all configs share: collect mismatches with their arithmetic shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from foxbench.errors import ConfigError
from foxbench.models.data import MarketData, Series, train_bars


class Mismatches:
    """Collects every mismatch of one config; :meth:`raise_any` raises them together.

    Parameters
    ----------
    subject : str
        The model's registered name.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Add one mismatch."""
        self.lines.append(line)

    def positive(self, **sizes: int | float) -> bool:
        """Every value must be finite and above 0; returns whether all are."""
        bad = [f"{k} {v} is not positive" for k, v in sizes.items() if not _is_positive(v)]
        self.lines += bad
        return not bad

    def sizes(self, **sizes: int) -> bool:
        """Every value must be a whole number of at least 1; returns whether all are."""
        bad = [
            f"{k} {v!r} is not a whole number of at least 1"
            for k, v in sizes.items()
            if isinstance(v, bool) or not isinstance(v, int) or v < 1
        ]
        self.lines += bad
        return not bad

    def share(self, **values: float) -> None:
        """Every value must lie in [0, 1]."""
        self.lines += [
            f"{k} {v} is not within 0 and 1" for k, v in values.items() if not 0 <= v <= 1
        ]

    def not_negative(self, **values: float) -> None:
        """Every value must be finite and at least 0."""
        self.lines += [
            f"{k} {v} is negative or not a number"
            for k, v in values.items()
            if not (math.isfinite(v) and v >= 0)
        ]

    def multiple(self, whole: str, whole_value: int, part: str, part_value: int) -> None:
        """``whole`` must be a multiple of ``part``; both are positive already."""
        if whole_value % part_value:
            self.add(f"{whole} {whole_value} is not a multiple of {part} {part_value}")

    def hidden(self, layers: Sequence[int]) -> None:
        """Hidden layers: at least one, all of at least one unit."""
        if not layers:
            self.add("hidden () names no layer")
        self.sizes(**{f"hidden[{i}]": n for i, n in enumerate(layers)})

    def series(self, data: MarketData, need: int, why: str, first_only: bool = True) -> None:
        """Each used series is well shaped, and its training part has ``need`` bars."""
        if not data.series:
            self.add("the data hold no series")
        for s in data.series[:1] if first_only else data.series:
            self._shapes(s)
            n = train_bars(s.n_bars)
            if n < need:
                held = s.n_bars - n
                self.add(
                    f"{why} = {need} bars > {n} training bars of {s.root} "
                    f"({s.n_bars} bars - {held} held out for evaluation)"
                )
            elif s.n_bars - n < 2:
                self.add(f"{s.n_bars} bars of {s.root} leave {s.n_bars - n} to evaluate, not 2")

    def _shapes(self, s: Series) -> None:
        if s.features.ndim != 2:
            self.add(f"{s.root}: features have shape {s.features.shape}, not (bars, features)")
            return
        if s.returns.shape != (s.n_bars,):
            self.add(f"{s.root}: returns {s.returns.shape} != ({s.n_bars},) bars")
        if len(s.feature_names) != s.n_features:
            self.add(f"{s.root}: {len(s.feature_names)} feature names != {s.n_features} columns")

    def raise_any(self, remedy: str = "change these settings or the data") -> None:
        """Raise :class:`ConfigError` when anything was collected."""
        if self.lines:
            raise ConfigError(self.subject, self.lines, remedy)


def _is_positive(value: int | float) -> bool:
    return math.isfinite(value) and value > 0
