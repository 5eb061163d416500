"""One inference call of each model, of the size a live bot makes, holding what a live bot holds."""

import functools
from collections.abc import Callable
from typing import Any

from foxbench.suite import settings

from .common import TrainerSuite


def _second(benchmark: Callable[..., None]) -> Callable[..., None]:
    """An inherited benchmark as version 2: version 1 held the trainer, with all it needs besides.

    asv asks the method for its version before the class, so each gets a copy of its own.
    """

    @functools.wraps(benchmark)
    def method(self: TrainerSuite, *params: Any) -> None:
        benchmark(self, *params)

    return settings(version="2")(method)


class _InferenceStep(TrainerSuite):
    """Inference workload named by ``model``."""

    time_step = _second(TrainerSuite.time_step)
    peakmem_step = _second(TrainerSuite.peakmem_step)
    steppeak_step = _second(TrainerSuite.steppeak_step)
    steppeak_first_step = _second(TrainerSuite.steppeak_first_step)

    def step(self) -> object:
        """Infer once, at the next held-out bar."""
        return self.trainer.step()


class Dqn(_InferenceStep):
    """Deep Q-network: the greedy position at one bar."""

    model = "dqn-infer"


class Ppo(_InferenceStep):
    """Proximal policy optimization: the likeliest position at one bar."""

    model = "ppo-infer"


class Mamba2(_InferenceStep):
    """MAMBA-2: the forecast of one window."""

    model = "mamba2-infer"


class Tft(_InferenceStep):
    """Temporal fusion transformer: the quantiles of one window."""

    model = "tft-infer"


class TftInt8(_InferenceStep):
    """Temporal fusion transformer with weights of 8 bits: the quantiles of one window."""

    model = "tft-int8"
