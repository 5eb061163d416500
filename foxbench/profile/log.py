"""The append-only log between the training process and its parent: one JSON object a line.

Each line is one write(2), so a process that is killed leaves every finished record whole and at
most one torn line at the end, which the reader drops.

Kinds of records: ``setup`` (provenance), ``data``, ``config``, ``begin`` (a phase begins),
``phase`` (it finished), ``plan`` (steps to make), ``step``, ``gauge`` (what is held after a step),
``parts`` (of one step), ``bytes``, ``evaluation``, ``warning``, ``error`` and ``end``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class LogWriter:
    """Appends records; used by the training process.

    Plain ``json`` and ``os.write``: nothing here may add to the memory that is being measured.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, kind: str, **fields: Any) -> None:
        """Append one record; it survives the death of this process, not of the machine."""
        line = json.dumps({"kind": kind, **fields}, separators=(",", ":")) + "\n"
        data = line.encode("utf-8")
        while data:
            data = data[os.write(self._fd, data) :]

    def sync(self) -> None:
        """Bring everything written so far to the disk."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class LogReader:
    """Reads the records of a log that another process is still writing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._offset = 0
        self._partial = b""

    def poll(self) -> list[dict[str, Any]]:
        """The records completed since the last call; none while the file does not exist."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [json.loads(line) for line in lines if line]
