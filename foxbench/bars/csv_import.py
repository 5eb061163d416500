"""Bars from CSV files: exact decimals, no float in between.

Columns ``timestamp_utc,open,high,low,close,volume``, one header line, plain or gzipped.
"""

from __future__ import annotations

import os
import re
from math import gcd
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from foxbench.bars.contracts import CONTRACTS, MONTH_CODES
from foxbench.bars.schema import MINUTE_NS, PRICE_COLUMNS, Bars, check, iso
from foxbench.errors import DataError, UsageError

STAMPS = ("open", "close")
COLUMNS = ("timestamp_utc", *PRICE_COLUMNS, "volume")

_TIME = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|\+00:?00)?$"
_PRICE = r"^[+-]?(\d{1,10})(\.\d{1,9}0*)?$"
_VOLUME = r"^\d{1,19}(\.0*)?$"
_FORMS = {
    "timestamp_utc": (_TIME, "a UTC time like 2024-01-01 23:01:00"),
    **dict.fromkeys(PRICE_COLUMNS, (_PRICE, "a decimal price with at most 9 places")),
    "volume": (_VOLUME, "a whole number"),
}


def import_csv(
    path: str | os.PathLike[str],
    root: str,
    symbol: str | None = None,
    tick_nano: int | None = None,
    stamp: str = "open",
) -> Bars:
    """Read ``.csv`` or ``.csv.gz`` bars of one contract.

    Parameters
    ----------
    path : path
    root : str
        ``ES``, ``NQ``, ``6E``, ``ZN``, or one's own together with ``tick_nano``.
    symbol : str, optional
        Raw symbol; by default read from the file's name (``6EH4.XCME_….csv`` is 6EH4).
    tick_nano : int, optional
        Price step in units of 1e-9; by default the root's own.
    stamp : str
        Which end of the bar the file's times name: ``open``, or ``close`` (a minute is then
        taken off, for ``ts_event`` is the open).

    Returns
    -------
    Bars
        ``instrument_id`` is the CRC-32 of the symbol: the file knows no exchange id.

    Raises
    ------
    DataError
        Names file, column and 0-based row (and line) of the first value that cannot be used.
    UsageError
        An unknown root without a tick, no symbol to be found, or another ``stamp``.
    """
    source = Path(path)
    if stamp not in STAMPS:
        raise UsageError(f"unknown stamp {stamp!r}", f"use one of {', '.join(STAMPS)}")
    if tick_nano is None:
        if root not in CONTRACTS:
            raise UsageError(
                f"unknown root {root!r}: its price step is not known",
                f"use one of {', '.join(CONTRACTS)}, or give the price step (--tick)",
            )
        tick_nano = CONTRACTS[root].tick_nano
    symbol = symbol or symbol_of(source.name, root)
    table = _table(source)
    name = source.name
    for column, (form, expected) in _FORMS.items():
        _refuse_other_forms(table, name, column, form, expected)
    n = table.num_rows
    times = _times(table.column("timestamp_utc"), name)
    bars = Bars(
        ts_event=times - MINUTE_NS if stamp == "close" else times,
        **{c: _nano(table.column(c)) for c in PRICE_COLUMNS},
        volume=_whole(table.column("volume")),
        instrument_id=np.full(n, crc32(symbol.encode()), dtype=np.uint32),
        symbol_codes=np.zeros(n, dtype=np.int32),
        symbols=(symbol,),
        root=root,
        tick_nano=tick_nano,
        source=name,
    )
    check(bars, name)
    _check_tick(bars, name)
    return bars


def symbol_of(file_name: str, root: str) -> str:
    """The raw symbol a file name begins with; :class:`UsageError` when it does not."""
    found = re.match(rf"{re.escape(root)}[{MONTH_CODES}]\d{{1,2}}(?![A-Za-z0-9])", file_name)
    if not found:
        raise UsageError(
            f"{file_name}: the name does not begin with a symbol of {root} (like {root}H4)",
            "give the symbol: --symbol",
        )
    return found.group()


def _table(source: Path) -> Any:
    """All columns as text, header checked."""
    name = source.name
    skipped: list[Any] = []

    def odd_row(row: Any) -> str:
        skipped.append(row)
        return "skip"

    try:
        if source.stat().st_size == 0:
            raise DataError(f"{name}: the file is empty (0 bytes)", "fetch the file again")
        table = pacsv.read_csv(
            source,
            read_options=pacsv.ReadOptions(use_threads=False),
            parse_options=pacsv.ParseOptions(invalid_row_handler=odd_row, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.string()), strings_can_be_null=False
            ),
        )
    except FileNotFoundError as fault:
        raise DataError(f"cannot read {source}: no such file", "check the path") from fault
    except (pa.ArrowException, OSError, UnicodeDecodeError) as fault:
        reason = str(fault).splitlines()[0]
        raise DataError(
            f"{name}: cannot be read: {reason}",
            "fetch the file again; it must be UTF-8 text, or gzip with a name ending in .gz",
        ) from fault
    if tuple(table.schema.names) != COLUMNS:
        raise DataError(
            f"{name}: columns are {', '.join(table.schema.names)}",
            f"make them: {', '.join(COLUMNS)}",
        )
    if skipped:
        row = skipped[0]
        raise DataError(
            f"{name}: line {row.number}: {row.actual_columns} columns, "
            f"expected {row.expected_columns}: {row.text!r}",
            "mend or drop the line",
        )
    if table.num_rows == 0:
        raise DataError(f"{name}: no rows", "give a file with at least one bar")
    return table


def _refuse_other_forms(table: Any, name: str, column: str, form: str, expected: str) -> None:
    good = pc.match_substring_regex(table.column(column), form).to_numpy()
    if not good.all():
        row = int(np.argmin(good))
        value = table.column(column)[row].as_py()
        raise DataError(
            f"{name}: column {column}, row {row} (line {row + 2}): {value!r} is not {expected}",
            "mend or drop the line",
        )


def _times(column: Any, name: str) -> NDArray[np.int64]:
    bare = pc.replace_substring_regex(column, r"(Z|\+00:?00)$", "")
    try:
        stamps = bare.cast(pa.timestamp("ns"))
    except pa.ArrowInvalid as fault:  # the right form, but e.g. a 13th month
        row = next(i for i, text in enumerate(bare.to_pylist()) if not _is_time(text))
        raise DataError(
            f"{name}: column timestamp_utc, row {row} (line {row + 2}): "
            f"{column[row].as_py()!r} is not a time of the calendar",
            "mend or drop the line",
        ) from fault
    values: NDArray[np.int64] = stamps.cast(pa.int64()).to_numpy()
    return values


def _is_time(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return False
    return True


def _nano(column: Any) -> NDArray[np.int64]:
    """Decimal text to whole 1e-9 units, exactly, through Arrow's 128-bit decimals."""
    text = pc.replace_substring_regex(column, r"(\.\d{9})0+$", r"\1")
    decimals = text.cast(pa.decimal128(28, 9)).combine_chunks()
    if isinstance(decimals, pa.ChunkedArray):
        decimals = decimals.chunk(0)
    # Little-endian 128-bit integers: the form allows 10 digits before the point, which fit the
    # low 64 bits up to 9.22e9; the high word then only repeats the sign.
    words = np.frombuffer(decimals.buffers()[1], dtype="<i8")
    words = words.reshape(-1, 2)[decimals.offset : decimals.offset + len(decimals)]
    return np.where(words[:, 1] == words[:, 0] >> 63, words[:, 0], 0)  # 0: refused by check()


def _whole(column: Any) -> NDArray[np.uint64]:
    text = pc.replace_substring_regex(column, r"\.0*$", "")
    values: NDArray[np.uint64] = text.cast(pa.uint64()).to_numpy()
    return values


def _check_tick(bars: Bars, name: str) -> None:
    """Most prices off the tick grid means another contract or scale: a wrong root."""
    off = bars.close % bars.tick_nano != 0
    if 2 * int(off.sum()) > len(bars):
        row = int(np.argmax(off))
        found = gcd(*(int(v) for v in bars.close[:1000]))
        raise DataError(
            f"{name}: column close, row {row} ({iso(bars.ts_event[row])}): most prices are not "
            f"multiples of the tick of {bars.root}, {bars.tick_nano / 1e9:g} "
            f"(they are multiples of {found / 1e9:g})",
            "name the right root, or give the price step (--tick)",
        )
