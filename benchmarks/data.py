"""Bars in and features out: what a bot does before any model runs."""

from .common import MarketSuite


class Load(MarketSuite):
    """Read and validate a month of bars from parquet."""

    def prepare(self) -> None:
        """Nothing: the file is in asv's cache folder."""

    def step(self) -> object:
        """Read the file."""
        from foxbench.bars import parquet

        return parquet.read("ES.parquet")


class Features(MarketSuite):
    """Compute the 225 features of a month of bars."""

    def prepare(self) -> None:
        """Read the bars."""
        from foxbench.bars import parquet

        self.bars = parquet.read("ES.parquet")

    def step(self) -> object:
        """Compute the matrix."""
        from foxbench.features import compute

        return compute(self.bars)
