"""Text that came from outside, made safe to show."""

from __future__ import annotations

import unicodedata

_REPLACED = ("Cc", "Cf", "Zl", "Zp", "Cs")


def plain(text: str) -> str:
    """One line without control characters, which could move a cursor or colour what follows, and
    without lone surrogates, which no file can hold.
    """
    return "".join(" " if unicodedata.category(c) in _REPLACED else c for c in text)
