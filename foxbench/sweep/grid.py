"""From ``--set batch=32,64,128`` to the points of a grid."""

from __future__ import annotations

import dataclasses
import itertools
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foxbench.errors import UsageError
from foxbench.models import registry
from foxbench.profile.spec import is_user_trainer

#: Trainings of one sweep at the most: each takes seconds, and a slip of the pen makes thousands.
MAX_POINTS = 1000


@dataclass(frozen=True)
class Point:
    """One training: a model and the texts of its settings by name."""

    model: str
    settings: tuple[tuple[str, str], ...]

    @property
    def assignments(self) -> tuple[str, ...]:
        """As ``--set`` takes them."""
        return tuple(f"{key}={value}" for key, value in self.settings)

    @property
    def label(self) -> str:
        """``dqn batch=64``."""
        return " ".join((self.model, *self.assignments))


def points(models: Sequence[str], texts: Sequence[str]) -> tuple[Point, ...]:
    """Every combination of the values, for each model, in the order given.

    Parameters
    ----------
    models : sequence of str
    texts : sequence of str
        ``key=v1,v2,...``; ``model.key=...`` is of that model alone.  Values are separated by ``;``
        where there is one, else by commas; of a setting that is itself a list, by ``;`` alone:
        ``hidden=128,64;256,128``.

    Raises
    ------
    UsageError
        A text of another form, a model that is not swept, a setting given twice or without a
        value, or more than :data:`MAX_POINTS`.
    """
    found: list[Point] = []
    for model in models:
        axes = _axes(model, models, texts)
        combined = itertools.product(*([(key, v) for v in values] for key, values in axes.items()))
        found += [Point(model, settings) for settings in combined]
        if len(found) > MAX_POINTS:
            raise UsageError(f"more than {MAX_POINTS} points", "give fewer values")
    return tuple(found)


def _axes(model: str, models: Sequence[str], texts: Sequence[str]) -> dict[str, list[str]]:
    """The values of each setting of one model."""
    axes: dict[str, list[str]] = {}
    own: set[str] = set()
    for text in texts:
        name, equals, value = text.partition("=")
        owner, _, key = name.rpartition(".")
        if not equals or not key:
            raise UsageError(f"--set {text}: not of the form key=value,value", "--set batch=32,64")
        if owner and owner not in models:
            raise UsageError(f"--set {text}: {owner!r} is not swept", f"of: {', '.join(models)}")
        if owner not in ("", model) or (not owner and key in own):
            continue  # another model's, or it has a line of its own
        if key in axes and bool(owner) == (key in own):
            raise UsageError(f"--set {name} is given twice", "keep one of them")
        axes[key] = _values(model, key, value)
        if owner:
            own.add(key)
    return axes


def _values(model: str, key: str, text: str) -> list[str]:
    if ";" in text:
        parts = text.split(";")
    elif _is_list(model, key):
        parts = [text]
    else:
        parts = text.split(",")
    values = [part.strip() for part in parts if part.strip()]
    if not values:
        raise UsageError(f"--set {key}={text}: no value", "give at least one")
    if len(set(values)) != len(values):
        raise UsageError(f"--set {key}={text}: a value is given twice", "keep one of them")
    return values


def _is_list(model: str, key: str) -> bool:
    """Whether a registered model's setting is a list; of a user's nobody knows here."""
    if is_user_trainer(model):
        return False
    cls: Any = type(registry.config(model))
    if key not in {field.name for field in dataclasses.fields(cls)}:
        return False
    return typing.get_origin(typing.get_type_hints(cls)[key]) in (tuple, list)
