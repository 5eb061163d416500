"""One training step of each model; the boundary of a step is the model's own."""

from .common import TrainerSuite


class _TrainingStep(TrainerSuite):
    """Step of the trainer named by ``model``."""

    def step(self) -> float:
        """Train one step."""
        return self.trainer.step()


class Dqn(_TrainingStep):
    """Deep Q-network: one gradient step and one environment transition."""

    model = "dqn"


class Ppo(_TrainingStep):
    """Proximal policy optimization: one iteration (rollout, GAE, 10 epochs)."""

    model = "ppo"


class Mamba2(_TrainingStep):
    """MAMBA-2: 16 windows of 256 bars, in micro-batches."""

    model = "mamba2"


class Tft(_TrainingStep):
    """Temporal fusion transformer: 64 windows from four roots, in micro-batches."""

    model = "tft"
