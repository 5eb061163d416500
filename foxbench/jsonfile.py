"""Results on disk: JSON of a frozen dataclass with a schema version, never half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from foxbench.errors import DataError, EnvironmentFault

T = TypeVar("T")


def encode(record: Any) -> bytes:
    """Indented JSON, a line feed at its end."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` in one move, so that no reader sees half of it.

    Raises
    ------
    EnvironmentFault
        The folder cannot be written to.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes the file private; give it the permissions an ordinary open would.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise EnvironmentFault(
            f"cannot write {path}: {error.strerror}", "name a folder you may write to"
        ) from error


def read(path: str | os.PathLike[str], cls: type[T], version: int, what: str, remedy: str) -> T:
    """Read what :func:`encode` made of a ``cls``.

    Parameters
    ----------
    path : path
    cls : type
        A dataclass with a ``schema_version``.
    version : int
        The only schema version that is read.
    what : str
        What such a file is called, e.g. ``"a profile"``.
    remedy : str
        How to get one.

    Raises
    ------
    DataError
        The file is missing, is no such thing, has an unknown key or another schema version.
    """
    try:
        raw = msgspec.json.decode(Path(path).read_bytes())
        found = raw.get("schema_version") if isinstance(raw, dict) else None
        if found != version:
            raise DataError(
                f"{path}: schema_version is {found!r}, this foxbench reads {version}", remedy
            )
        record = msgspec.convert(raw, cls)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", remedy) from error
    except msgspec.MsgspecError as error:
        raise DataError(f"{path}: not {what}: {error}", remedy) from error
    unknown = unknown_keys(raw, msgspec.to_builtins(record))
    if unknown:
        raise DataError(f"{path}: unknown key {', '.join(unknown)}", remedy)
    return record


def unknown_keys(raw: Any, known: Any, where: str = "") -> list[str]:
    """Keys of ``raw`` that decoding dropped: msgspec ignores them in dataclasses."""
    if isinstance(raw, dict) and isinstance(known, dict):
        found = [f"{where}{key}" for key in raw if key not in known]
        for key in raw.keys() & known.keys():
            found += unknown_keys(raw[key], known[key], f"{where}{key}.")
        return sorted(found)
    if isinstance(raw, list) and isinstance(known, list | tuple):
        return [
            key
            for i, (r, k) in enumerate(zip(raw, known, strict=True))
            for key in unknown_keys(r, k, f"{where[:-1]}[{i}].")
        ]
    return []
