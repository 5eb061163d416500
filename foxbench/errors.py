"""Every error type of foxbench.

Each message says what was wrong and where (file, line, row, key); ``remedy`` names the
command or the edit that mends it.  Only :func:`foxbench.cli.main.main` prints them and picks
the exit code.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_OK = 0
EXIT_REGRESSION = 1
EXIT_OVER_BUDGET = 2
EXIT_NOT_MEASURED = 3
EXIT_USAGE = 4
EXIT_ENVIRONMENT = 5


class FoxbenchError(Exception):
    """Base of all errors.

    Parameters
    ----------
    what : str
        What was wrong, and where.
    remedy : str
        The command or edit that mends it; empty where there is none.
    """

    exit_code = EXIT_ENVIRONMENT

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what}\n  mend: {self.remedy}" if self.remedy else self.what


class UsageError(FoxbenchError):
    """The command line or the call asks for something that does not exist."""

    exit_code = EXIT_USAGE


class DataError(FoxbenchError):
    """Input bars that cannot be used: wrong schema, unsorted, truncated, not a number."""

    exit_code = EXIT_USAGE


class ConfigError(FoxbenchError):
    """A configuration that does not fit itself or the data; lists *every* mismatch.

    Parameters
    ----------
    subject : str
        What was configured, e.g. ``"tft"``.
    mismatches : sequence of str
        One line each, with the arithmetic shown.
    remedy : str
        The edit that mends it.
    """

    exit_code = EXIT_USAGE

    def __init__(self, subject: str, mismatches: Sequence[str], remedy: str = "") -> None:
        lines = "".join(f"\n  - {m}" for m in mismatches)
        super().__init__(f"{subject}: the configuration does not fit:{lines}", remedy)
        self.mismatches = tuple(mismatches)


class NotMeasured(FoxbenchError):
    """A figure that was asked for and could not be measured here."""

    exit_code = EXIT_NOT_MEASURED


class EnvironmentFault(FoxbenchError):
    """The machine or the installation lacks something foxbench needs."""

    exit_code = EXIT_ENVIRONMENT


class SamplerError(EnvironmentFault):
    """A C call of the sampler failed; ``errno`` is the positive error number."""

    def __init__(self, what: str, errno: int, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.errno = errno
