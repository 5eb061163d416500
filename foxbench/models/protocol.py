"""The small protocol behind which every model stands.

Knows no torch: a config is checked against the data before torch is imported and before
anything is allocated.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from foxbench.models.data import MarketData


class OwnTrainer(Protocol):
    """What a trainer of one's own has to have: ``step``; see docs/own-trainer.md.

    Built as ``Class(data, config, device)``: ``data`` a :class:`MarketData`, or a tuple of
    :class:`foxbench.bars.schema.Bars` where the class says ``reads = "bars"``; ``config`` an
    instance of the class's dataclass ``Config`` with the settings asked for, None without one;
    ``device`` ``"cpu"`` or ``"cuda"``.

    It may have ``steps_per_epoch()``, ``bytes()`` and ``evaluate()`` as :class:`Trainer` does.
    """

    def step(self) -> float | None:
        """Do one training step and return its loss, or None."""


class Config(Protocol):
    """A frozen dataclass of one model's settings."""

    seed: int

    def check(self, data: MarketData) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with the data."""


@runtime_checkable
class Trainer(Protocol):
    """A model with its optimizer and data; built as ``TrainerClass(data, config, device)``."""

    def step(self) -> float:
        """Do one training step (its boundary is each model's own) and return the loss."""

    def bytes(self) -> dict[str, int]:
        """Bytes by component: ``params``, ``grads``, ``optimizer``, ``buffers``, ``data``.

        They are what stands at this moment: ``grads`` is 0 between steps, where gradients are
        freed, and as much as ``params`` at its most; ``optimizer`` grows in the first step.
        ``buffers`` hold what the trainer allocated besides (a target network, a replay), and
        ``data`` the features, which on the CPU it may share with its caller.
        """

    def evaluate(self) -> dict[str, float]:
        """Score the model without training it; keys are metric names, one of them ``loss``."""

    def infer(self) -> Any:
        """One inference call of the size a live bot makes (a batch of 1, or one window)."""

    def steps_per_epoch(self) -> int:
        """Steps that pass over the series about once."""
