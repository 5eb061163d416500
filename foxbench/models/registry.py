"""One registry: name -> where the config and the workload live.

A workload trains a model, makes its forecasts, or trades with them.  Config modules import no
torch; the workload's module is imported only by :func:`build`, after the config was checked.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from foxbench.errors import ConfigError, UsageError
from foxbench.models.protocol import Config, Trainer

#: What a workload's step does: train, forecast or decide once, or trade one bar from end to end.
Kind = Literal["training", "inference", "agent"]


@dataclass(frozen=True)
class Entry:
    """Where a workload's two halves live, and how it is run by default.

    Attributes
    ----------
    config : str
        ``module:Class`` of the config; the module imports no torch.
    trainer : str
        ``module:Class`` of the workload, built as ``Class(data, config, device)``.
    roots : tuple of str
        Instruments it works on by default.
    profile_steps : int
        Steps of an epoch at the most when a profile is asked for no number, so that three epochs
        of a 30,000-bar file take about a minute or less on one slow core with the quiet
        allocator.  The step's memory is the same at every warm step: more steps sharpen little.
    kind : str
        ``training``, ``inference`` or ``agent``.
    """

    config: str
    trainer: str
    roots: tuple[str, ...]
    profile_steps: int
    kind: Kind = "training"


_ALL_ROOTS = ("ES", "NQ", "6E", "ZN")

MODELS: Mapping[str, Entry] = {
    "dqn": Entry(
        "foxbench.models.configs:DqnConfig", "foxbench.models.dqn:DqnTrainer", ("ES",), 500
    ),
    "ppo": Entry("foxbench.models.configs:PpoConfig", "foxbench.models.ppo:PpoTrainer", ("ES",), 3),
    "mamba2": Entry(
        "foxbench.models.configs:Mamba2Config", "foxbench.models.mamba2:Mamba2Trainer", ("ES",), 8
    ),
    "tft": Entry(
        "foxbench.models.configs:TftConfig", "foxbench.models.tft:TftTrainer", _ALL_ROOTS, 40
    ),
    "dqn-infer": Entry(
        "foxbench.models.configs:DqnConfig",
        "foxbench.models.inference:DqnInference",
        ("ES",),
        500,
        "inference",
    ),
    "ppo-infer": Entry(
        "foxbench.models.configs:PpoConfig",
        "foxbench.models.inference:PpoInference",
        ("ES",),
        500,
        "inference",
    ),
    "mamba2-infer": Entry(
        "foxbench.models.configs:Mamba2Config",
        "foxbench.models.inference:Mamba2Inference",
        ("ES",),
        500,
        "inference",
    ),
    "tft-infer": Entry(
        "foxbench.models.configs:TftConfig",
        "foxbench.models.inference:TftInference",
        _ALL_ROOTS,
        500,
        "inference",
    ),
    "tft-int8": Entry(
        "foxbench.models.configs:TftConfig",
        "foxbench.models.inference:TftInt8Inference",
        _ALL_ROOTS,
        300,
        "inference",
    ),
    "agent": Entry(
        "foxbench.models.configs:AgentConfig", "foxbench.models.agent:Agent", ("ES",), 500, "agent"
    ),
}


def names(kind: Kind | None = "training") -> tuple[str, ...]:
    """Registered names of one kind, in display order; None for all."""
    return tuple(name for name, one in MODELS.items() if kind in (None, one.kind))


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


def build(name: str, data: Any, cfg: Config | None = None, device: str = "cpu") -> Trainer:
    """Check the config against the data, then import torch and build the workload.

    Parameters
    ----------
    name : str
    data : MarketData or tuple of Bars
        Bars, one an instrument, for a workload whose class says ``reads = "bars"``.
    cfg : Config, optional
        The default of ``name`` otherwise.
    device : str
    """
    cfg = config(name) if cfg is None else cfg
    cfg.check(data)
    return cast(Trainer, _load(entry(name).trainer)(data, cfg, device))


def _load(path: str) -> Any:
    module, _, attr = path.partition(":")
    return getattr(importlib.import_module(module), attr)
