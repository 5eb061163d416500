"""Sizes with a unit: ``"325 MB"``, ``"4 GiB"`` to whole bytes, and back for a terminal."""

from __future__ import annotations

import re
from decimal import Decimal

from foxbench.errors import UsageError

#: Decimal prefixes are powers of 1000 (SI), binary ones powers of 1024 (IEC 80000-13).
UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")


def parse_bytes(text: str, what: str = "size") -> int:
    """Whole bytes of a size with a unit.

    Parameters
    ----------
    text : str
        A number, not negative, and one of ``UNITS``, with or without a space between.
    what : str
        What the size is, for the message: ``"--limit"``, ``"dqn: limit"``.

    Returns
    -------
    int
        Above 0; a part of a byte is dropped.

    Raises
    ------
    UsageError
        No unit, an unknown one, no number, a negative one, or nothing.
    """
    remedy = 'write a number and a unit, such as "325 MB" or "4 GiB"'
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        if re.fullmatch(r"[0-9.]+", text.strip()):
            raise UsageError(f"{what} {text!r} has no unit", remedy)
        if text.strip().startswith("-"):
            raise UsageError(f"{what} {text!r} is negative", remedy)
        raise UsageError(f"{what} {text!r} is not a size", remedy)
    number, unit = match.groups()
    if unit not in UNITS:
        raise UsageError(
            f"{what} {text!r}: unknown unit {unit!r}", f"use one of {', '.join(UNITS)}"
        )
    n_bytes = int(Decimal(number) * UNITS[unit])
    if n_bytes == 0:
        raise UsageError(f"{what} {text!r} is nothing", remedy)
    return n_bytes


def format_bytes(n_bytes: int) -> str:
    """``4294967296`` to ``4.00 GiB``; the sign stays."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(n_bytes) >= UNITS[unit]:
            return f"{n_bytes / UNITS[unit]:,.2f} {unit}"
    return f"{n_bytes} B"
