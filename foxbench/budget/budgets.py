"""Budgets of memory, in whole bytes: what one workload may need on one device."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foxbench.errors import ConfigError
from foxbench.profile import settings
from foxbench.profile.spec import is_user_trainer


@dataclass(frozen=True)
class Budget:
    """What one workload may need on one device.

    Attributes
    ----------
    model : str
        A registered workload or ``module:Class``.
    config : dict
        Settings that differ from the workload's defaults.
    device : str
        ``host`` or ``cuda``.
    covers : str
        ``whole``: the process's peak; ``growth``: the peak from build on above the resident set
        when building began; ``step``: the peak of a warm step above the resident set before it.
    limit_bytes : int
    expected_bytes, noise_bytes : int or None
        What it needed when last looked at, and how far from it is no change.
    owner, reason : str or None
    expires : datetime.date or None
        The last day on which the budget holds.
    where : str
        File and line, for messages.
    """

    model: str
    config: dict[str, Any]
    device: str
    covers: str
    limit_bytes: int
    expected_bytes: int | None
    noise_bytes: int | None
    owner: str | None
    reason: str | None
    expires: datetime.date | None
    where: str


@dataclass(frozen=True)
class Budgets:
    """One budgets.toml.

    Attributes
    ----------
    path : str
    device_limit_bytes : dict of str to int
    budgets : tuple of Budget
        In the file's order.
    """

    path: str
    device_limit_bytes: Mapping[str, int]
    budgets: tuple[Budget, ...]

    def of(self, model: str, device: str) -> tuple[Budget, ...]:
        """The budgets of one workload on one device, one for each configuration."""
        return tuple(b for b in self.budgets if (b.model, b.device) == (model, device))


def refuse_expired(
    budgets: Budgets, models: Iterable[str], device: str, today: datetime.date
) -> None:
    """Refuse when a budget of a model asked for no longer holds.

    Raises
    ------
    ConfigError
        Every budget that has expired, with its owner.
    """
    expired = [b for m in models for b in budgets.of(m, device) if b.expires and b.expires < today]
    if expired:
        raise ConfigError(
            budgets.path,
            [
                f"{b.where}: the budget of {b.model} expired on {b.expires}"
                + (f"; its owner is {b.owner}" if b.owner else "")
                for b in expired
            ],
            "renew it: measure, confirm or change `limit`, and set `expires` to a later date",
        )


def in_force(model: str, config: Mapping[str, Any]) -> Any:
    """What tells two configurations apart: every setting, or those given of ``module:Class``."""
    if is_user_trainer(model):
        return sorted(config.items())
    return settings.config(model, settings.parse(model, assignments(config)))


def label(model: str, config: Mapping[str, Any]) -> str:
    """``dqn``, or ``dqn batch=1024`` where settings differ from the defaults."""
    return " ".join([model, *assignments(config)])


def assignments(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as ``--set`` takes them."""
    return tuple(f"{key}={_text(value)}" for key, value in config.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
