"""Reads budgets.toml and says everything that is wrong with it; its keys stand in ``schema``."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec

from foxbench.budget import schema
from foxbench.budget.budgets import Budget, Budgets, in_force, label
from foxbench.budget.lines import Lines
from foxbench.errors import ConfigError, FoxbenchError, UsageError
from foxbench.profile.spec import is_user_trainer
from foxbench.sizes import parse_bytes

tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

FILE_NAME = "budgets.toml"

_REMEDY = "correct the file; `foxbench validate --schema` prints what it may hold"
_AT = re.compile(r" - at `\$(.*)`$")


def find(asked: Path | None, folder: Path) -> Path | None:
    """Which file holds the budgets: the one asked for, else ``budgets.toml`` in ``folder``; None
    stands for the one that comes with foxbench.
    """
    if asked is not None:
        return asked
    local = folder / FILE_NAME
    return local if local.exists() else None


def load(path: Path | None) -> Budgets:
    """Read a file of budgets; the shipped one for None.

    Raises
    ------
    UsageError
        The file cannot be read or is not TOML.
    ConfigError
        Everything in it that is not as :mod:`foxbench.budget.schema` says, with line and key.
    """
    if path is not None:
        return _load(path)
    with as_file(files("foxbench.budget") / FILE_NAME) as shipped:
        return _load(shipped)


def _load(path: Path) -> Budgets:
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read budgets {path}: {error.strerror}", "name a file with --budgets FILE"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error}", "save the file as UTF-8") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}", _REMEDY) from error
    return _Reader(path, raw, Lines(text)).read()


class _Reader:
    """Turns the decoded file into :class:`Budgets`, collecting all that is wrong with it."""

    def __init__(self, path: Path, raw: dict[str, Any], lines: Lines) -> None:
        self._path = path
        self._raw = raw
        self._lines = lines
        self._mismatches: list[str] = []

    def read(self) -> Budgets:
        version = self._raw.get("schema_version")
        if version != schema.SCHEMA_VERSION or isinstance(version, bool):
            shown = "missing" if version is None else repr(version)
            raise ConfigError(
                str(self._path),
                [f"schema_version is {shown}, this foxbench reads {schema.SCHEMA_VERSION}"],
                f"write schema_version = {schema.SCHEMA_VERSION} at the file's top",
            )
        self._only_known((), self._raw, schema.BudgetsFile.__struct_fields__)
        limits = self._device_limits()
        budgets = self._budgets()
        self._no_two_alike(budgets)
        if self._mismatches:
            raise ConfigError(str(self._path), self._mismatches, _REMEDY)
        return Budgets(str(self._path), limits, tuple(budgets))

    def _device_limits(self) -> dict[str, int]:
        devices = self._raw.get("device", {})
        if not isinstance(devices, dict):
            self._wrong(("device",), "device is not a table; write [device.host]")
            return {}
        self._only_known(("device",), devices, schema.DEVICES)
        found = {}
        for name, table in devices.items():
            path = ("device", name)
            if name in schema.DEVICES and self._only_known(
                path, table, schema.DeviceTable.__struct_fields__
            ):
                typed = self._typed(path, table, schema.DeviceTable)
                size = self._bytes((*path, "limit"), typed.limit) if typed else None
                if size is not None:
                    found[name] = size
        return found

    def _budgets(self) -> list[Budget]:
        tables = self._raw.get("budget", [])
        if not isinstance(tables, list):
            self._wrong(("budget",), "budget is not a list of tables; write [[budget]]")
            return []
        found = (self._budget(i, table) for i, table in enumerate(tables))
        return [budget for budget in found if budget is not None]

    def _budget(self, index: int, table: Any) -> Budget | None:
        path = ("budget", index)
        before = len(self._mismatches)
        if not self._only_known(path, table, schema.BudgetTable.__struct_fields__):
            return None
        typed = self._typed(path, table, schema.BudgetTable)
        if typed is None:
            return None
        sizes = {
            key: None if text is None else self._bytes((*path, key), text)
            for key, text in (
                ("limit", typed.limit),
                ("expected", typed.expected),
                ("noise", typed.noise),
            )
        }
        self._known_model(path, typed)
        if typed.device != "host" and typed.covers != "whole":
            self._wrong(
                (*path, "covers"), f'covers = "{typed.covers}" is measured on the host only'
            )
        limit_bytes = sizes["limit"]
        if limit_bytes is None or len(self._mismatches) > before:
            return None
        return Budget(
            model=typed.model,
            config=typed.config,
            device=typed.device,
            covers=typed.covers,
            limit_bytes=limit_bytes,
            expected_bytes=sizes["expected"],
            noise_bytes=sizes["noise"],
            owner=typed.owner,
            reason=typed.reason,
            expires=typed.expires,
            where=self._where(path),
        )

    def _known_model(self, path: tuple[str | int, ...], typed: schema.BudgetTable) -> None:
        """A name and settings that exist; those of ``module:Class`` are known in its run only."""
        if is_user_trainer(typed.model):
            return
        try:
            in_force(typed.model, typed.config)
        except ConfigError as error:
            for line in error.mismatches:
                self._wrong((*path, "config"), f"config of {typed.model}: {line}")
        except FoxbenchError as error:
            self._wrong((*path, "model"), f"{error.what}; {error.remedy}")
        except (TypeError, ValueError) as error:
            self._wrong((*path, "config"), f"config of {typed.model}: {error}")

    def _no_two_alike(self, budgets: Sequence[Budget]) -> None:
        seen: dict[tuple[str, str, str], Budget] = {}
        for budget in budgets:
            key = (budget.model, budget.device, repr(in_force(budget.model, budget.config)))
            first = seen.setdefault(key, budget)
            if first is not budget:
                self._mismatches.append(
                    f"{budget.where}: a second budget for {label(budget.model, budget.config)} on "
                    f"{budget.device}; the first is at {first.where}"
                )

    def _only_known(self, path: tuple[str | int, ...], table: Any, known: Sequence[str]) -> bool:
        if not isinstance(table, dict):
            self._wrong(path, f"{_shown(path)} is not a table")
            return False
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                guess = f", did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"
                self._wrong((*path, key), f"unknown key {key!r}{guess}")
        return True

    def _typed(self, path: tuple[str | int, ...], table: dict[str, Any], kind: type[Any]) -> Any:
        """The table as a struct; None, and a mismatch, where a value is of a wrong type."""
        known = {k: v for k, v in table.items() if k in kind.__struct_fields__}
        try:
            return msgspec.convert(known, kind)
        except msgspec.ValidationError as error:
            text = str(error)
            at = _AT.search(text)
            key = at.group(1).lstrip(".").split(".")[0].split("[")[0] if at else ""
            text = _AT.sub("", text)
            self._wrong((*path, key) if key else path, f"{key}: {text}" if key else text)
            return None

    def _bytes(self, path: tuple[str | int, ...], text: str) -> int | None:
        try:
            return parse_bytes(text, str(path[-1]))
        except UsageError as error:
            self._wrong(path, f"{error.what}; {error.remedy}")
            return None

    def _wrong(self, path: tuple[str | int, ...], what: str) -> None:
        self._mismatches.append(f"{self._where(path)}: {what}")

    def _where(self, path: tuple[str | int, ...]) -> str:
        line = self._lines.of(path)
        return f"line {line}" if line is not None else _shown(path)


def _shown(path: tuple[str | int, ...]) -> str:
    """``budget[1].limit``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
