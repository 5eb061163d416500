"""Bars in Parquet files: one schema, written atomically, read with every doubt refused.

Columns: ``ts_event`` timestamp[ns, UTC] (the bar's open), ``open high low close`` int64 in 1e-9,
``volume`` uint64, ``instrument_id`` uint32, ``symbol`` dictionary<string>; file metadata ``root``,
``tick_nano``, ``source``.  Files by Databento's ``to_parquet`` are accepted too: float64 prices
are rounded to 1e-9, ``rtype`` and ``publisher_id`` ignored, and the missing metadata taken from
the ``root`` that the caller names.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from foxbench.bars.contracts import contract
from foxbench.bars.schema import PRICE_COLUMNS, Bars, check, iso
from foxbench.errors import DataError, UsageError

SCHEMA = pa.schema(
    [
        pa.field("ts_event", pa.timestamp("ns", "UTC"), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in PRICE_COLUMNS),
        pa.field("volume", pa.uint64(), nullable=False),
        pa.field("instrument_id", pa.uint32(), nullable=False),
        pa.field("symbol", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ]
)
METADATA_KEYS = ("root", "tick_nano", "source")
IGNORED = ("rtype", "publisher_id")

_MAGIC = b"PAR1"
_FETCH_AGAIN = "write or fetch the file again"
#: The largest price whose 1e-9 units fit int64.
_MAX_PRICE = 9.2e9


def write(bars: Bars, path: str | os.PathLike[str]) -> None:
    """Write checked bars to a file that is either whole or not there.

    Parameters
    ----------
    bars : Bars
    path : path
        Replaced when it exists; the bars go to a temporary file beside it first.

    Raises
    ------
    DataError
        Values that :func:`foxbench.bars.schema.check` refuses.
    UsageError
        The folder does not exist or cannot be written.
    """
    target = Path(path)
    check(bars, target.name)
    meta = {"root": bars.root, "tick_nano": str(bars.tick_nano), "source": bars.source}
    arrays = [
        pa.array(bars.ts_event.view("datetime64[ns]")).cast(SCHEMA.field("ts_event").type),
        *(pa.array(getattr(bars, name)) for name in PRICE_COLUMNS),
        pa.array(bars.volume),
        pa.array(bars.instrument_id),
        pa.DictionaryArray.from_arrays(
            pa.array(bars.symbol_codes), pa.array(list(bars.symbols), pa.string())
        ),
    ]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(meta))
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        pq.write_table(table, temporary)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes 0600; give what open() would
        os.replace(temporary, target)
    except OSError as fault:
        raise UsageError(
            f"cannot write {target}: {fault.strerror or fault}",
            "name a file in a folder that exists and may be written",
        ) from fault
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def read(path: str | os.PathLike[str], root: str | None = None) -> Bars:
    """Read and check one file of bars.

    Parameters
    ----------
    path : path
    root : str, optional
        For files without our metadata (Databento's): the root whose tick they trade in.

    Raises
    ------
    DataError
        Whatever is wrong with the file, naming file, column and the first row it happens in.
    """
    source = Path(path)
    table, meta = _table(source)
    name = source.name
    _check_columns(table, name)
    bars_root, tick_nano, origin = _metadata(meta, name, root)
    codes, symbols = _symbols(table.column("symbol"))
    bars = Bars(
        ts_event=_numpy(table.column("ts_event").cast(pa.int64())),
        **{column: _prices(table.column(column), name, column) for column in PRICE_COLUMNS},
        volume=_numpy(table.column("volume")),
        instrument_id=_numpy(table.column("instrument_id")),
        symbol_codes=codes,
        symbols=symbols,
        root=bars_root,
        tick_nano=tick_nano,
        source=origin,
    )
    check(bars, name)
    return bars


def outline(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Root and number of bars of a file, from its footer alone.

    Raises
    ------
    DataError
        The file is not Parquet, is truncated, or names no root.
    """
    source = Path(path)
    file = _open(source)
    root, _, _ = _metadata(dict(file.schema_arrow.metadata or {}), source.name, None)
    return root, int(file.metadata.num_rows)


def _table(source: Path) -> tuple[Any, dict[bytes, bytes]]:
    """The file's table and metadata."""
    file = _open(source)
    meta = dict(file.schema_arrow.metadata or {})
    wanted = [n for n in file.schema_arrow.names if n not in IGNORED]
    try:
        table = file.read(columns=wanted, use_threads=False)
    except (pa.ArrowException, OSError) as fault:
        raise _damaged(source, fault) from fault
    if table.num_rows == 0:
        raise DataError(f"{source.name}: no rows", "give a file with at least one bar")
    return table, meta


def _open(source: Path) -> Any:
    """The opened file; says apart empty, foreign, truncated and damaged ones."""
    try:
        size = source.stat().st_size
        with source.open("rb") as file:
            head = file.read(4)
            file.seek(max(0, size - 4))
            tail = file.read(4)
    except OSError as fault:
        raise DataError(
            f"cannot read {source}: {fault.strerror}", "check the path and its permissions"
        ) from fault
    if size == 0:
        raise DataError(f"{source.name}: the file is empty (0 bytes)", _FETCH_AGAIN)
    if head != _MAGIC:
        remedy = "import it first: foxbench bars import FILE.csv -o OUT.parquet --root ROOT"
        raise DataError(f"{source.name}: not a Parquet file (begins with {head!r})", remedy)
    if tail != _MAGIC or size < 12:
        raise DataError(
            f"{source.name}: truncated: {size} bytes without Parquet's closing mark", _FETCH_AGAIN
        )
    try:
        return pq.ParquetFile(source)
    except (pa.ArrowException, OSError) as fault:
        raise _damaged(source, fault) from fault


def _damaged(source: Path, fault: Exception) -> DataError:
    return DataError(f"{source.name}: damaged: {str(fault).splitlines()[0]}", _FETCH_AGAIN)


def _check_columns(table: Any, name: str) -> None:
    known = ", ".join(SCHEMA.names)
    for column in SCHEMA.names:
        count = table.schema.names.count(column)
        if count != 1:
            state = "missing" if count == 0 else f"there {count} times"
            raise DataError(f"{name}: column {column} is {state}", f"give one each of: {known}")
    for column in table.schema.names:
        if column not in SCHEMA.names:
            raise DataError(
                f"{name}: unknown column {column!r}", f"drop it; the columns are: {known}"
            )
    for field in SCHEMA:
        found = table.schema.field(field.name).type
        allowed = [field.type]
        if field.name in PRICE_COLUMNS:
            allowed.append(pa.float64())
        is_text = field.name == "symbol" and _is_text(found)
        if found not in allowed and not is_text:
            expected = " or ".join(str(t) for t in allowed)
            raise DataError(
                f"{name}: column {field.name} is {found}, expected {expected}",
                f"cast the column: table[{field.name!r}].cast({str(field.type)!r})",
            )
        column = table.column(field.name)
        if column.null_count:
            row = int(np.argmax(_numpy(column.is_null())))
            raise DataError(
                f"{name}: column {field.name}, row {row}{_when(table, row)}: no value (null)",
                "drop the row",
            )


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _when(table: Any, row: int) -> str:
    stamp = table.column("ts_event")[row]
    return f" ({iso(stamp.value)})" if stamp.is_valid else ""


def _metadata(meta: dict[bytes, bytes], name: str, root: str | None) -> tuple[str, int, str]:
    missing = [key for key in METADATA_KEYS if key.encode() not in meta]
    if missing and root is not None:
        return root, contract(root).tick_nano, name
    if missing:
        raise DataError(
            f"{name}: file metadata is missing: {', '.join(missing)}",
            'name the root: foxbench.bars.parquet.read(path, root="ES")',
        )
    values = [meta[key.encode()].decode(errors="replace") for key in METADATA_KEYS]
    if root is not None and root != values[0]:
        raise DataError(f"{name}: holds root {values[0]!r}, not {root!r}", f"give a file of {root}")
    if not values[1].isdecimal() or int(values[1]) <= 0:
        raise DataError(
            f"{name}: file metadata tick_nano is {values[1]!r}, expected a positive integer",
            "write the price step in units of 1e-9",
        )
    return values[0], int(values[1]), values[2]


def _prices(column: Any, name: str, label: str) -> NDArray[np.int64]:
    values: NDArray[Any] = _numpy(column)
    if values.dtype == np.int64:
        return values.astype(np.int64, copy=False)
    bad = ~(np.abs(values) < _MAX_PRICE)  # true for NaN too
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{name}: column {label}, row {row}: price is {values[row]}, expected a finite number "
            f"below {_MAX_PRICE:g}",
            "drop the row",
        )
    return np.rint(values * 1e9).astype(np.int64)


def _symbols(column: Any) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    codes: NDArray[np.int32] = whole.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes, tuple(whole.dictionary.to_pylist())


def _numpy(column: Any) -> Any:
    return column.to_numpy()
