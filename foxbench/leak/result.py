"""What one leak test found: frozen, stored as JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foxbench import jsonfile
from foxbench.errors import (
    EXIT_ENVIRONMENT,
    EXIT_NOT_MEASURED,
    EXIT_OK,
    EXIT_REGRESSION,
    EXIT_USAGE,
    DataError,
)
from foxbench.leak.verdict import VERDICTS, LeakVerdict
from foxbench.profile.result import Provenance

#: Bumped whenever a key changes its name or meaning.
SCHEMA_VERSION = 1

KINDS = ("training", "command")


@dataclass(frozen=True)
class LeakResult:
    """One leak test.

    Attributes
    ----------
    schema_version : int
    kind : str
        ``training`` or ``command``.
    model : str or None
        A registered name or ``module:Class``; None for a command.
    files : tuple of str
        Absolute paths of the bars.
    config : dict or None
        Every setting in force; None for a command and for a trainer without a config.
    command : tuple of str
        Empty for a training.
    started_at : str
        UTC, ISO 8601.
    status : str
        How the run ended: ``ok``, ``failed``, ``oom``, ``timeout`` or ``not_measured``.
    error : str or None
        Why it is not ``ok``.
    run_exit_code : int
        Of the training or command; 128 + N when signal N ended it.
    verdict : LeakVerdict
        Of what was measured, also where the run failed later.
    provenance : Provenance or None
        What a training was measured with.
    """

    schema_version: int
    kind: str
    model: str | None
    files: tuple[str, ...]
    config: dict[str, Any] | None
    command: tuple[str, ...]
    started_at: str
    status: str
    error: str | None
    run_exit_code: int
    verdict: LeakVerdict
    provenance: Provenance | None


def exit_code(result: LeakResult) -> int:
    """0 for clean and fragmentation, 1 for a leak, 3 where it is not known.

    A run that failed without a leak is not known to be clean.  One that could not even start
    leaves with its own 4 or 5.
    """
    verdict = result.verdict.verdict
    if verdict == "leak":
        return EXIT_REGRESSION
    if verdict in ("clean", "fragmentation") and result.status == "ok":
        return EXIT_OK
    if result.kind == "training" and result.run_exit_code in (EXIT_USAGE, EXIT_ENVIRONMENT):
        return result.run_exit_code
    return EXIT_NOT_MEASURED


def encode(result: LeakResult) -> bytes:
    """Indented JSON, a line feed at its end."""
    return jsonfile.encode(result)


def write(result: LeakResult, path: Path) -> None:
    """Write the result, whole or not at all.

    Raises
    ------
    EnvironmentFault
        The folder cannot be written to.
    """
    jsonfile.write_atomically(path, encode(result))


def read(path: str | os.PathLike[str]) -> LeakResult:
    """Read a result that :func:`write` wrote.

    Raises
    ------
    DataError
        The file is missing, is no such result, has an unknown key or another schema version.
    """
    remedy = "make it again with `foxbench leak`"
    what = "the result of a leak test"
    result = jsonfile.read(path, LeakResult, SCHEMA_VERSION, what, remedy)
    if result.verdict.verdict not in VERDICTS or result.kind not in KINDS:
        raise DataError(
            f"{path}: unknown verdict {result.verdict.verdict!r} or kind {result.kind!r}", remedy
        )
    return result
