"""One inference call of each model, of the size a live bot makes."""

from .common import TrainerSuite


class _InferenceStep(TrainerSuite):
    """Inference of the trainer named by ``model``."""

    def step(self) -> object:
        """Infer once."""
        return self.trainer.infer()


class Dqn(_InferenceStep):
    """Deep Q-network: the greedy action of one bar."""

    model = "dqn"


class Ppo(_InferenceStep):
    """Proximal policy optimization: the action of one bar."""

    model = "ppo"


class Mamba2(_InferenceStep):
    """MAMBA-2: the forecast of one window."""

    model = "mamba2"


class Tft(_InferenceStep):
    """Temporal fusion transformer: the quantiles of one window."""

    model = "tft"
