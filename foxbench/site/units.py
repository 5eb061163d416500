"""Bytes, shares and dates as the page shows them; the only place where they are rounded."""

from __future__ import annotations

from datetime import datetime, timezone

_MIB = 1 << 20
_NOTHING = "–"


def mib(value: int | None) -> str:
    """``31457280`` -> ``30.00``; the unit stands in the column's head or behind it."""
    return _NOTHING if value is None else f"{value / _MIB:,.2f}"


def delta_mib(value: int | None) -> str:
    """Signed, ``+3.00``; below half a hundredth it is ``0.00`` without a sign."""
    if value is None:
        return _NOTHING
    return _signed(value / _MIB, 2)


def percent(value: float | None) -> str:
    """Signed percent, ``+10.0 %``."""
    return _NOTHING if value is None else f"{_signed(value, 1)} %"


def date(ms: int) -> str:
    """Day of a time in ms since 1970, UTC."""
    return datetime.fromtimestamp(ms / 1000, tz=timezone.utc).strftime("%Y-%m-%d")


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        return text
    return ("+" if value > 0 else "−") + text
