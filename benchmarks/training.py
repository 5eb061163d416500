"""One training step of each model; the boundary of a step is the model's own."""

from .common import TrainerSuite


class TrainingStep(TrainerSuite):
    """Step of the trainer named by ``model``; abstract here, one class a model below."""

    def step(self) -> float:
        """Train one step."""
        return self.trainer.step()


class Dqn(TrainingStep):
    """Deep Q-network: one gradient step and one environment transition."""

    model = "dqn"


class Ppo(TrainingStep):
    """Proximal policy optimization: one iteration (rollout, GAE, 10 epochs)."""

    model = "ppo"


class Mamba2(TrainingStep):
    """MAMBA-2: 16 windows of 256 bars, in micro-batches."""

    model = "mamba2"


class Tft(TrainingStep):
    """Temporal fusion transformer: 64 windows from four roots, in micro-batches."""

    model = "tft"
