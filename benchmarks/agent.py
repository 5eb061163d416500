"""The whole agent: a bar arrives, its features, the decision, the book."""

from foxbench.suite import StepSuite

from .common import DAYS, SEED


class Agent(StepSuite):
    """One bar of ES with the default policy.

    Bars are made here rather than read: reading would import pyarrow, which no bot needs.
    """

    def prepare(self) -> None:
        """Make the market and read its past, up to the first live bar."""
        from foxbench.bars.synthetic import synthetic
        from foxbench.models import registry

        roots = registry.entry("agent").roots
        bars = tuple(synthetic(root, days=DAYS, seed=SEED) for root in roots)
        self.agent = registry.build("agent", bars)

    def step(self) -> None:
        """Trade one bar."""
        self.agent.step()
