"""What a size means for one model: its settings, its valid values, and its arithmetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from foxbench.budget import budgets
from foxbench.errors import ConfigError, UsageError
from foxbench.models import account as accounts
from foxbench.models import registry
from foxbench.models.data import MarketData
from foxbench.models.dataset import outline
from foxbench.profile import settings
from foxbench.profile.spec import is_user_trainer

#: Above any size.
_NO_CAP = 2**31


class Sizes(Protocol):
    """The sizes of one model.

    Attributes
    ----------
    setting : str
        What is varied.
    start : int
        The size that was asked for, or the default.
    smallest, cap : int
        Ends of what is allowed.
    """

    setting: str
    start: int
    smallest: int
    cap: int

    def assignments(self, value: int) -> tuple[str, ...]:
        """Settings of a size as ``--set`` takes them."""

    def round_down(self, value: int) -> int:
        """The largest valid size up to ``value``."""

    def analytic(self, value: int) -> tuple[int, int] | None:
        """Bytes that stand between steps, and those that a step adds; None without an account."""


def sizes(
    model: str,
    files: Sequence[Path],
    max_bars: int | None,
    given: Sequence[str],
    setting: str | None,
) -> Sizes:
    """The sizes of ``model``.

    Parameters
    ----------
    model : str
        A registered name or ``module:Class``.
    files : sequence of Path
    max_bars : int or None
    given : sequence of str
        Further settings, as ``--set`` takes them.
    setting : str or None
        What to vary; None for what the model's memory grows with most directly.

    Raises
    ------
    UsageError, ConfigError, DataError
        No such setting, or settings that do not fit the bars at any size.
    """
    if is_user_trainer(model):
        return _Given(model, given, setting)
    registry.entry(model)  # names the known models where it is none
    return _Registered(model, outline(files, max_bars), given, setting)


class _Given:
    """A setting of a user's trainer: any whole number, and nothing follows it."""

    smallest = 1
    cap = _NO_CAP

    def __init__(self, model: str, given: Sequence[str], setting: str | None) -> None:
        if setting is None:
            raise UsageError(
                f"what makes a step of {model} larger is not known",
                "name a setting of its Config with --setting, and a value to begin with by --set",
            )
        self._rest = dict(settings.pairs(given))
        text = self._rest.pop(setting, "1")
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"--set {setting}={text}: not a whole number from 1 on")
        self.setting, self.start = setting, int(text)

    def assignments(self, value: int) -> tuple[str, ...]:
        return (*(f"{k}={v}" for k, v in self._rest.items()), f"{self.setting}={value}")

    def round_down(self, value: int) -> int:
        return value

    def analytic(self, value: int) -> tuple[int, int] | None:
        return None


@dataclass(frozen=True)
class _Sized:
    value: int
    config: Any


class _Registered:
    """A setting of a registered model; what depends on it moves along where an account says how."""

    def __init__(
        self, model: str, data: MarketData, given: Sequence[str], setting: str | None
    ) -> None:
        self._model, self._data = model, data
        self._has_account = model in accounts.names()
        # An inference has its model's config, and settings that move along in the same way.
        same = registry.entry(model).config
        models = (name for name in accounts.names() if registry.entry(name).config == same)
        self._moves = next(models, None)
        if setting is None:
            setting = accounts.size_setting(model)
        self.setting = setting
        self._config = cast(Any, settings.config(model, settings.parse(model, given)))
        known = getattr(self._config, setting, None)
        if known is None and setting == "micro" and self._moves is not None:
            known = self._config.batch  # what it stands for where nothing is said
        if not isinstance(known, int):
            raise UsageError(f"{model} has no whole-number setting {setting!r}")
        self.smallest = self._sized(1).value
        self._sized(self.smallest).config.check(data)
        self.cap = self._cap()
        self.start = min(self.cap, self.round_down(known))

    def assignments(self, value: int) -> tuple[str, ...]:
        config, default = self._sized(value).config, registry.config(self._model)
        changed = {
            f.name: getattr(config, f.name)
            for f in dataclasses.fields(config)
            if getattr(config, f.name) != getattr(default, f.name)
        }
        return budgets.assignments(
            {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}
        )

    def round_down(self, value: int) -> int:
        return self._sized(value).value

    def analytic(self, value: int) -> tuple[int, int] | None:
        if not self._has_account:
            return None
        found = accounts.account(self._model, self._sized(value).config, self._data)
        return found.resident_bytes, found.step_peak_bytes

    def _sized(self, value: int) -> _Sized:
        config: Any
        if self._moves is not None:
            config = accounts.resized(self._moves, self._config, value, self.setting)
        else:
            config = dataclasses.replace(self._config, **{self.setting: value})
        return _Sized(getattr(config, self.setting), config)

    def _fits_data(self, value: int) -> bool:
        try:
            self._sized(value).config.check(self._data)
        except ConfigError:
            return False
        return True

    def _cap(self) -> int:
        """The largest size that the bars allow."""
        low, high = self.smallest, _NO_CAP
        if self._fits_data(high):
            return high
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits_data(middle):
                low = middle
            else:
                high = middle
        return self._sized(low).value
