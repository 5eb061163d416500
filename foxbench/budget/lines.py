"""Which line of a TOML file a key stands on; tomllib does not tell.

Looks for the usual form, one ``key = value`` a line below its header, and finds nothing (None)
where a table is written inline: then the message names the key alone.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_-]+))\s*=""")

Path = tuple[str | int, ...]


class Lines:
    """Line numbers, counted from 1, by the path of a key: ``("budget", 0, "limit")``."""

    def __init__(self, text: str) -> None:
        self._of: dict[Path, int] = {}
        table: Path = ()
        counts: dict[Path, int] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            header = _HEADER.fullmatch(line)
            if header:
                table = tuple(part.strip().strip("\"'") for part in header.group(2).split("."))
                if header.group(1) == "[[":
                    index = counts.get(table, 0)
                    counts[table] = index + 1
                    table = (*table, index)
                self._of.setdefault(table, number)
                continue
            key = _KEY.match(line)
            if key:
                name = next(group for group in key.groups() if group is not None)
                self._of.setdefault((*table, name), number)

    def of(self, path: Path) -> int | None:
        """The line of a key or a table; of the nearest table around it where it is not found."""
        while path:
            if path in self._of:
                return self._of[path]
            path = path[:-1]
        return None
