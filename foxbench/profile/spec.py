"""What one profile run is to do: written by the parent, read by the training process."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench.errors import UsageError

#: Steps per epoch when none are asked for, so that three epochs of a 30,000-bar file take about
#: a minute or less on one slow core with the quiet allocator; a whole DQN epoch is ~24,000 steps.
#: The step's memory is the same at every warm step, so more steps sharpen little.
DEFAULT_STEPS_PER_EPOCH = {"dqn": 500, "ppo": 3, "mamba2": 8, "tft": 40}

#: The same for a trainer that is given as ``module:Class``.
USER_STEPS_PER_EPOCH = 100

DEFAULT_EPOCHS = 3


@dataclass(frozen=True)
class Spec:
    """One run.

    Attributes
    ----------
    model : str
        A registered name or ``module:Class``.
    files : tuple of str
        Absolute paths of the bars, one file an instrument.
    epochs : int
    steps_per_epoch : int
        Upper bound; an epoch of the model that is shorter stays shorter.
    max_bars : int or None
        First bars of each file to use; None for all.
    settings : dict
        Settings that replace the config's defaults; JSON values.
    hz : float
        Sampling rate.
    quiet_allocator : bool
    threads : int
    search : tuple of str
        Folders where a ``module:Class`` is looked for besides the installed packages.
    log : str
        Absolute path of the log to write.
    """

    model: str
    files: tuple[str, ...]
    epochs: int
    steps_per_epoch: int
    max_bars: int | None
    settings: dict[str, Any]
    hz: float
    quiet_allocator: bool
    threads: int
    search: tuple[str, ...]
    log: str

    def __post_init__(self) -> None:
        for name in ("epochs", "steps_per_epoch", "threads"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}, must be at least 1")
        if self.epochs * self.steps_per_epoch < 2:
            raise UsageError(
                "one step in all: the first step only warms up, so nothing would be measured",
                "ask for more with --epochs or --steps-per-epoch",
            )

    def save(self, path: Path) -> None:
        """Write the spec as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str) -> Spec:
        """Read what :meth:`save` wrote."""
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        for name in ("files", "search"):
            raw[name] = tuple(raw[name])
        return cls(**raw)


def is_user_trainer(model: str) -> bool:
    """Whether ``model`` is a ``module:Class`` rather than a registered name."""
    return ":" in model
