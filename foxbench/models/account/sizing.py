"""Which setting makes a step larger, and how a config follows it and stays valid.

``foxbench fit`` asks for the largest value that fits and tries many, so every value has to give a
valid config: what must divide something else moves to the next valid value below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from foxbench.errors import UsageError
from foxbench.models.protocol import Config

#: DQN learns from ``batch`` transitions at once.  PPO works through its rollout in minibatches, and
#: their size, not the rollout's, is what both networks' activations grow with (about 10 KB a
#: transition of a minibatch, some hundred bytes a step of the rollout).  MAMBA-2 and TFT: the
#: batch, which goes through the model in one pass unless the config names a ``micro``.
SIZE_SETTINGS: Mapping[str, str] = {
    "dqn": "batch",
    "ppo": "minibatch",
    "mamba2": "batch",
    "tft": "batch",
}


def size_setting(model: str) -> str:
    """The setting that a step's memory grows with most directly.

    Raises
    ------
    UsageError
        ``model`` has no account.
    """
    try:
        return SIZE_SETTINGS[model]
    except KeyError:
        raise unknown(model) from None


def unknown(model: str) -> UsageError:
    """The error for a model without an account."""
    return UsageError(
        f"{model!r} has no memory account", f"accounts exist of: {', '.join(SIZE_SETTINGS)}"
    )


def resized(model: str, config: Config, value: int, setting: str | None = None) -> Config:
    """``config`` with its size setting at ``value``, and what depends on it moved along.

    Parameters
    ----------
    model : str
    config : Config
    value : int
        At least 1.
    setting : str, optional
        Another whole-number setting instead of :func:`size_setting`'s.

    Returns
    -------
    Config
        The setting itself is lowered only where nothing else can give: ``seq_len`` to a multiple
        of ``chunk``, ``d_model`` to one that heads divide, ``n_steps`` to a multiple of
        ``minibatch``, ``batch`` to one of a ``micro`` that the config names.

    Raises
    ------
    UsageError
        The model has no account, or no such whole-number setting.

    Notes
    -----
    A ``micro`` of None means one pass for the whole batch here, on the CPU too: who asks for the
    largest batch that fits means one that fits as a whole.  With a ``micro`` in the config the need
    hardly grows with the batch, and it is ``micro`` one may ask for instead.
    """
    name = size_setting(model) if setting is None else setting
    old: Any = config
    if model not in SIZE_SETTINGS:
        raise unknown(model)
    if not isinstance(getattr(old, name, None), int) and name != "micro":
        raise UsageError(
            f"{model} has no whole-number setting {name!r}",
            f"use {SIZE_SETTINGS[model]}, or another setting that is a whole number",
        )
    return dataclasses.replace(old, **_MOVES[model](old, name, max(1, value)))  # type: ignore[no-any-return]


def _dqn(old: Any, name: str, value: int) -> dict[str, Any]:
    new = {"batch": old.batch, "warmup": old.warmup, "capacity": old.capacity, name: value}
    new["warmup"] = max(new["warmup"], new["batch"])
    new["capacity"] = max(new["capacity"], new["warmup"])
    return new


def _ppo(old: Any, name: str, value: int) -> dict[str, Any]:
    new = {"minibatch": old.minibatch, "n_steps": old.n_steps, name: value}
    new["minibatch"] = max(2, new["minibatch"])
    new["n_steps"] = _below(new["n_steps"], new["minibatch"])
    return new


def _mamba2(old: Any, name: str, value: int) -> dict[str, Any]:
    new = _in_passes(old, name, value)
    if name in ("seq_len", "chunk"):
        new |= {"seq_len": old.seq_len, "chunk": old.chunk, name: value}
        new["chunk"] = min(new["chunk"], new["seq_len"])
        new["seq_len"] = _below(new["seq_len"], new["chunk"])
    if name == "d_model":
        # expand * d_model is a multiple of headdim when d_model is.
        new["d_model"] = _below(value, old.headdim)
    return new


def _tft(old: Any, name: str, value: int) -> dict[str, Any]:
    new = _in_passes(old, name, value)
    if name == "d_model":
        new["d_model"] = _below(value, old.heads)
    return new


def _in_passes(old: Any, name: str, value: int) -> dict[str, Any]:
    """``batch`` and ``micro``; other settings leave them as they are."""
    if name == "batch" and old.micro is None:
        return {"batch": value, "micro": value}
    if name == "batch":
        micro = min(old.micro, value)
        return {"batch": _below(value, micro), "micro": micro}
    if name == "micro":
        return {"batch": _below(old.batch, value), "micro": value}
    return {name: value}


def _below(value: int, part: int) -> int:
    """The largest multiple of ``part`` up to ``value``; at least ``part``."""
    return max(1, value // part) * part


_MOVES = {"dqn": _dqn, "ppo": _ppo, "mamba2": _mamba2, "tft": _tft}
