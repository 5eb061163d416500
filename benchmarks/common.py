"""The market all benchmarks share: made once a commit, read by every process."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from foxbench.suite import StepSuite

#: About 29,000 bars a root: a month, as the real 6E file has.
DAYS = 30
SEED = 7
ROOTS = ("ES", "NQ", "6E", "ZN")


class MarketSuite(StepSuite):
    """A step that needs bars: asv runs ``setup_cache`` once, all processes share its folder."""

    roots: tuple[str, ...] = ("ES",)

    def setup_cache(self) -> None:
        """Write bars, features and returns of every root into asv's cache folder."""
        from foxbench.bars import parquet
        from foxbench.bars.synthetic import synthetic
        from foxbench.models.dataset import series

        for root in ROOTS:
            bars = synthetic(root, days=DAYS, seed=SEED)
            parquet.write(bars, f"{root}.parquet")
            made = series(bars)
            np.savez(
                f"{root}.npz", features=made.features, returns=made.returns, statics=made.statics
            )
            with open(f"{root}.json", "w") as file:
                json.dump(made.feature_names, file)

    setup_cache.timeout = 300  # type: ignore[attr-defined]

    def market(self) -> Any:
        """The roots' series, read into ordinary memory: a map would fault pages in mid-step."""
        from foxbench.models.data import MarketData, Series

        loaded = []
        for root in self.roots:
            with np.load(f"{root}.npz") as arrays, open(f"{root}.json") as names:
                loaded.append(Series(root=root, feature_names=tuple(json.load(names)), **arrays))
        return MarketData(tuple(loaded))


class TrainerSuite(MarketSuite):
    """A trainer of the registry, at its default configuration."""

    model = ""

    def prepare(self, *params: Any) -> None:
        """Build the trainer; asv's ``setup_cache`` has made the market."""
        from foxbench.models import registry

        self.roots = registry.entry(self.model).roots
        self.trainer = registry.build(self.model, self.market())
