"""The empty twins: what the instrument reads when nothing is measured."""

from foxbench.suite import StepSuite


class Empty(StepSuite):
    """A bare interpreter."""

    def prepare(self) -> None:
        """Nothing."""

    def step(self) -> None:
        """Nothing."""


class EmptyTorch(StepSuite):
    """An interpreter that has imported torch: the floor of every model."""

    def prepare(self) -> None:
        """Import torch."""
        import torch  # noqa: F401

    def step(self) -> None:
        """Nothing."""
