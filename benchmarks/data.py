"""Bars in and features out: what a bot does before any model runs."""

from .common import MarketSuite


class Load(MarketSuite):
    """Read and validate a month of bars from parquet."""

    def prepare(self) -> None:
        """Import pyarrow, which is no part of the step; the file is in asv's cache folder."""
        from foxbench.bars import parquet

        self.read = parquet.read

    def step(self) -> object:
        """Read the file."""
        return self.read("ES.parquet")


class Features(MarketSuite):
    """Compute the 225 features of a month of bars."""

    def prepare(self) -> None:
        """Read the bars."""
        from foxbench.bars import parquet
        from foxbench.features import compute

        self.bars = parquet.read("ES.parquet")
        self.compute = compute

    def step(self) -> object:
        """Compute the matrix."""
        return self.compute(self.bars)
