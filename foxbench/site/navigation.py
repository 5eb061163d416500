"""A "Memory" entry in asv's own navigation; no script of asv reads its list of pages."""

from __future__ import annotations

import re
from pathlib import Path

_REGRESSIONS_ENTRY = re.compile(r'([ \t]*)<li id="nav-li-regressions">.*?</li>', re.DOTALL)
_ENTRY = '<li id="nav-li-memory"><a href="memory.html">Memory</a></li>'


def add_link(index: Path) -> bool:
    """Put the entry after asv's "Regressions"; False where asv's page no longer has that one."""
    if not index.is_file():
        return False
    text = index.read_text(encoding="utf-8")
    if _ENTRY in text:
        return True
    found = _REGRESSIONS_ENTRY.search(text)
    if found is None:
        return False
    entry = f"\n{found[1]}{_ENTRY}"
    index.write_text(text[: found.end()] + entry + text[found.end() :], encoding="utf-8")
    return True
