"""``--set key=value``: text from the command line, typed by the fields of the model's config."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from foxbench.errors import ConfigError, UsageError
from foxbench.models import registry
from foxbench.models.protocol import Config


def parse(model: str, assignments: Sequence[str]) -> dict[str, Any]:
    """Typed settings of ``model`` from ``key=value`` texts.

    Parameters
    ----------
    model : str
        A registered name.
    assignments : sequence of str
        E.g. ``["batch=128", "lr=3e-4", "roots=ES,NQ"]``; a list is separated by commas, and
        ``null`` stands for None where the field may be None.

    Returns
    -------
    dict
        JSON values by field name.

    Raises
    ------
    UsageError
        A text that is not ``key=value``, or a key given twice.
    ConfigError
        Every unknown key and every value that does not fit its field.
    """
    return typed(model, type(registry.config(model)), pairs(assignments))


def pairs(assignments: Sequence[str]) -> list[tuple[str, str]]:
    """Key and value of each ``key=value``.

    Raises
    ------
    UsageError
        A text of another form, or a key given twice.
    """
    found: dict[str, str] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {text}: not of the form key=value", "write --set batch=128")
        if key in found:
            raise UsageError(f"--set {key} is given twice", "keep one of them")
        found[key] = value
    return list(found.items())


def typed(subject: str, cls: type[Any], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values of the fields of the dataclass ``cls`` from their texts, or from values as such.

    Raises
    ------
    ConfigError
        As :func:`parse`.
    """
    hints = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    settings: dict[str, Any] = {}
    mismatches: list[str] = []
    for key, value in given:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            guess = f", did you mean {close[0]!r}?" if close else ""
            mismatches.append(f"unknown setting {key!r}{guess}")
            continue
        try:
            settings[key] = _convert(value, hints[key])
        except msgspec.ValidationError as error:
            mismatches.append(f"{key}={value}: {error}")
    if mismatches:
        raise ConfigError(subject, mismatches, f"known: {', '.join(known)}")
    return settings


def config(model: str, values: dict[str, Any]) -> Config:
    """The model's config with ``values`` as they stand in a spec: JSON knows no tuples."""
    return registry.config(model, **_as_tuples(values))


def made(cls: type[Any], values: dict[str, Any]) -> Any:
    """An instance of a user's config dataclass with ``values``, lists as tuples."""
    return cls(**_as_tuples(values))


def _as_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def _convert(value: Any, hint: Any) -> Any:
    """From text, or from a value that a suite has in Python."""
    if isinstance(value, str) and typing.get_origin(hint) in (tuple, list):
        parts = [part.strip() for part in value.split(",") if part.strip()]
        return list(msgspec.convert(parts, hint, strict=False))
    return msgspec.convert(value, hint, strict=False)
