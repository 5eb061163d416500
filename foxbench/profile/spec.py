"""What one profile run is to do: written by the parent, read by the training process."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench.errors import UsageError

#: Steps of an epoch when none are asked for, of a trainer that is given as ``module:Class``; a
#: registered one has its own in :mod:`foxbench.models.registry`.
USER_STEPS_PER_EPOCH = 100

#: A bound above any epoch: each is as long as the trainer says.
ALL_STEPS = 2**62

DEFAULT_EPOCHS = 3

DEVICES = ("cpu", "cuda")


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
    device : str
        ``cpu`` or ``cuda``, what trainers are built with.
    soak_s : float or None
        Warm steps are made for so long instead of for ``epochs``.
    limit_bytes : int or None
        A real limit of the process's memory, see :mod:`foxbench.profile.limit`.
    limit_kind : str or None
        How it is enforced; the runner sets it.
    gauges : bool
        Whether the heap in use is read after every step, see :mod:`foxbench.profile.gauges`.
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
    device: str = "cpu"
    soak_s: float | None = None
    limit_bytes: int | None = None
    limit_kind: str | None = None
    gauges: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "steps_per_epoch", "threads"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}, must be at least 1")
        if self.device not in DEVICES:
            raise UsageError(f"unknown device {self.device!r}", f"use one of: {', '.join(DEVICES)}")
        if self.soak_s is None and self.epochs * self.steps_per_epoch < 2:
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
