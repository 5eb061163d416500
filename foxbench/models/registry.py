"""One registry: name -> where the config and the trainer live.

Config modules import no torch; the trainer module is imported only by :func:`build`, after the
config was checked.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from foxbench.errors import ConfigError, UsageError
from foxbench.models.data import MarketData
from foxbench.models.protocol import Config, Trainer


@dataclass(frozen=True)
class Entry:
    """Where a model's two halves live.

    Attributes
    ----------
    config : str
        ``module:Class`` of the config; the module imports no torch.
    trainer : str
        ``module:Class`` of the trainer.
    roots : tuple of str
        Instruments the model trains on by default.
    """

    config: str
    trainer: str
    roots: tuple[str, ...]


MODELS: Mapping[str, Entry] = {
    "dqn": Entry("foxbench.models.configs:DqnConfig", "foxbench.models.dqn:DqnTrainer", ("ES",)),
    "ppo": Entry("foxbench.models.configs:PpoConfig", "foxbench.models.ppo:PpoTrainer", ("ES",)),
    "mamba2": Entry(
        "foxbench.models.configs:Mamba2Config", "foxbench.models.mamba2:Mamba2Trainer", ("ES",)
    ),
    "tft": Entry(
        "foxbench.models.configs:TftConfig",
        "foxbench.models.tft:TftTrainer",
        ("ES", "NQ", "6E", "ZN"),
    ),
}


def names() -> tuple[str, ...]:
    """Registered model names, in display order."""
    return tuple(MODELS)


def entry(name: str) -> Entry:
    """The entry of ``name``; :class:`UsageError` names the known ones otherwise."""
    try:
        return MODELS[name]
    except KeyError:
        known = ", ".join(MODELS)
        raise UsageError(f"unknown model {name!r}", f"use one of: {known}") from None


def config(name: str, **settings: Any) -> Config:
    """The model's default config with ``settings`` replaced; unknown keys are refused."""
    cls = _load(entry(name).config)
    known = [f.name for f in dataclasses.fields(cls)]
    unknown = [k for k in settings if k not in known]
    if unknown:
        raise ConfigError(
            name, [f"unknown setting {k!r}" for k in unknown], f"known: {', '.join(known)}"
        )
    return cast(Config, cls(**settings))


def build(name: str, data: MarketData, cfg: Config | None = None, device: str = "cpu") -> Trainer:
    """Check the config against the data, then import torch and build the trainer."""
    cfg = config(name) if cfg is None else cfg
    cfg.check(data)
    return cast(Trainer, _load(entry(name).trainer)(data, cfg, device))


def _load(path: str) -> Any:
    module, _, attr = path.partition(":")
    return getattr(importlib.import_module(module), attr)
