"""A timeline as an Arrow table and a Parquet file, every column with its unit.

===========  ===================  ======  =======================================================
column       type                 unit    meaning
===========  ===================  ======  =======================================================
first_ns     int64                ns      the bucket's first sample, since the measurement's begin
max_ns       int64                ns      when the bucket's largest sample was taken
min_bytes    int64                bytes   smallest sample
max_bytes    int64                bytes   largest sample
last_bytes   int64                bytes   last sample
count        int64                1       samples in the bucket
phase        dictionary<string>           innermost interval in which ``max_ns`` lies; null outside
===========  ===================  ======  =======================================================

A bucket holds one sample until the timeline is full, then two, four and so on; no maximum is lost.
The file's own metadata carries ``foxbench.schema_version``, ``foxbench.source`` (``process``: the
resident set of one process; ``tree``: the sum over a command and its descendants; ``device``: what
is in use on the device that ``foxbench.device`` names), ``foxbench.hz`` (the asked rate) and
``foxbench.begin_ns`` (CLOCK_MONOTONIC of the begin).
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foxbench.errors import DataError, EnvironmentFault, FoxbenchError, UsageError
from foxbench.sampler import assemble
from foxbench.sampler.result import Interval, Measurement, Timeline

SCHEMA_VERSION = 1
SOURCES = ("process", "tree", "device")

_COLUMNS = {
    "first_ns": ("ns", "the bucket's first sample, since the begin"),
    "max_ns": ("ns", "when the bucket's largest sample was taken, since the begin"),
    "min_bytes": ("bytes", "smallest sample of the bucket"),
    "max_bytes": ("bytes", "largest sample of the bucket"),
    "last_bytes": ("bytes", "last sample of the bucket"),
    "count": ("1", "samples in the bucket"),
    "phase": ("", "innermost interval in which max_ns lies; null outside"),
}

#: What the launcher writes: this, int64 begin_ns, int64 n, n rows of six int64.
_RAW_MAGIC = b"FOXTL001"


def from_measurement(measurement: Measurement) -> Any:
    """The ``pyarrow.Table`` of a finished :class:`foxbench.measure` block."""
    return table(
        measurement.timeline,
        begin_ns=measurement.whole.begin_ns,
        phases=measurement.intervals,
        hz=measurement.hz,
        source="process",
    )


def device_tables(measurement: Measurement) -> dict[str, Any]:
    """A ``pyarrow.Table`` of each device that was read, by its UUID; empty without any."""
    found = measurement.device
    if found is None:
        return {}
    made = {}
    for one in found.devices:
        if one.timeline is not None and one.device.uuid is not None:
            plain = table(
                one.timeline,
                begin_ns=measurement.whole.begin_ns,
                phases=measurement.intervals,
                hz=found.hz,
                source="device",
            )
            metadata = {**plain.schema.metadata, b"foxbench.device": one.device.uuid.encode()}
            made[one.device.uuid] = plain.replace_schema_metadata(metadata)
    return made


def table(
    timeline: Timeline,
    *,
    begin_ns: int,
    phases: Sequence[Interval] = (),
    hz: float | None = None,
    source: str = "process",
) -> Any:
    """Make the table described above.

    Parameters
    ----------
    timeline : Timeline
    begin_ns : int
        CLOCK_MONOTONIC; the columns of time count from here, so a sample taken just before has a
        negative one.
    phases : sequence of Interval
        On the same clock.
    hz : float, optional
        The asked rate; None where it is not known.
    source : str
        One of ``SOURCES``.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    arrays = {
        "first_ns": pa.array(timeline.first_ns - begin_ns),
        "max_ns": pa.array(timeline.max_ns - begin_ns),
        "min_bytes": pa.array(timeline.min_bytes),
        "max_bytes": pa.array(timeline.max_bytes),
        "last_bytes": pa.array(timeline.last_bytes),
        "count": pa.array(timeline.count),
        "phase": pa.array(_phases(timeline.max_ns, phases), pa.string()).dictionary_encode(),
    }
    metadata = {
        "foxbench.schema_version": str(SCHEMA_VERSION),
        "foxbench.source": source,
        "foxbench.hz": "" if hz is None else f"{hz:g}",
        "foxbench.begin_ns": str(begin_ns),
    }
    return pa.table(arrays, schema=_schema(metadata))


def _schema(metadata: dict[str, str]) -> Any:
    import pyarrow as pa

    fields = []
    for name, (unit, description) in _COLUMNS.items():
        kind = pa.dictionary(pa.int32(), pa.string()) if name == "phase" else pa.int64()
        about = {"unit": unit, "description": description}
        fields.append(pa.field(name, kind, nullable=name == "phase", metadata=about))
    return pa.schema(fields, metadata=metadata)


def _phases(at_ns: Any, phases: Sequence[Interval]) -> list[str | None]:
    """For each time the deepest interval around it, the later one of two equally deep."""
    names = np.full(len(at_ns), None, dtype=object)
    for phase in sorted(phases, key=lambda interval: (interval.depth, interval.begin_ns)):
        names[(at_ns >= phase.begin_ns) & (at_ns <= phase.end_ns)] = phase.name
    return list(names)


def write(made: Any, path: str | os.PathLike[str]) -> None:
    """Write a table as Parquet, whole or not at all.

    Raises
    ------
    EnvironmentFault
        The place cannot be written to.
    """
    import pyarrow.parquet as pq

    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                pq.write_table(made, file)
                file.flush()
                mask = os.umask(0)
                os.umask(mask)
                temporary.chmod(0o666 & ~mask)
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {target}: {error.strerror or error}", "name another folder"
        ) from error


def read(path: str | os.PathLike[str]) -> Any:
    """Read such a file back.

    Raises
    ------
    DataError
        No Parquet file, not one of ours, or of another version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from error
    version = (found.schema.metadata or {}).get(b"foxbench.schema_version")
    if version not in (None, str(SCHEMA_VERSION).encode()):
        raise DataError(
            f"{path}: schema version {version!r}, this foxbench reads {SCHEMA_VERSION}",
            "read it with the foxbench that wrote it",
        )
    if version is None or not found.schema.equals(_schema({})):
        columns = ", ".join(f"{field.name} {field.type}" for field in found.schema)
        raise DataError(
            f"{path}: not a timeline of foxbench: columns {columns}",
            "give a file that foxbench run --timeline or foxbench profile wrote",
        )
    return found


def from_raw(raw: bytes, hz: float | None = None) -> Any:
    """The table of what the launcher recorded.

    Raises
    ------
    DataError
        Cut short, or of another format.
    """
    head = struct.Struct("=8sqq")
    if len(raw) < head.size or raw[:8] != _RAW_MAGIC:
        raise DataError("not a raw timeline of foxbench-run")
    _, begin_ns, n = head.unpack_from(raw)
    if n < 0 or len(raw) != head.size + n * 48:
        raise DataError(f"a raw timeline of {n} buckets has {len(raw)} bytes: it was cut short")
    buckets = np.frombuffer(raw, np.int64, offset=head.size).reshape(n, 6)
    return table(assemble.timeline(buckets), begin_ns=begin_ns, hz=hz, source="tree")


def main(argv: Sequence[str]) -> int:
    """Convert what the launcher recorded: ``[--from-fd FD] [--hz HZ] [RAW] PARQUET``."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m foxbench.sampler.timeline_file")
    parser.add_argument("--from-fd", type=int, help="descriptor that holds the raw timeline")
    parser.add_argument("--hz", type=float)
    parser.add_argument("files", nargs="+", help="the raw file unless --from-fd, then the Parquet")
    options = parser.parse_args(argv)
    try:
        if len(options.files) != (1 if options.from_fd is not None else 2):
            raise UsageError("the files named do not fit", "name RAW PARQUET")
        if options.from_fd is not None:
            with os.fdopen(options.from_fd, "rb") as file:
                file.seek(0)
                raw = file.read()
        else:
            raw = Path(options.files[0]).read_bytes()
        write(from_raw(raw, options.hz), options.files[-1])
    except (FoxbenchError, OSError) as error:
        sys.stderr.write(f"foxbench: {error}\n")
        return error.exit_code if isinstance(error, FoxbenchError) else EnvironmentFault.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
