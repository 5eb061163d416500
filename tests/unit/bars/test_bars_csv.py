import gzip
from decimal import Decimal

import numpy as np
import pytest

from foxbench.bars.csv_import import import_csv, symbol_of
from foxbench.errors import DataError, UsageError

HEADER = "timestamp_utc,open,high,low,close,volume"
ROWS = (
    "2024-01-01 23:01:00,1.1076,1.10785,1.1076,1.1078,205",
    "2024-01-01 23:02:00,1.10775,1.1078,1.1077,1.10775,86",
    "2024-01-01 23:03:00,1.10775,1.1078,1.10765,1.10765,47",
)


def written(tmp_path, *rows, header=HEADER, name="6EH4.bars.csv"):
    path = tmp_path / name
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def refusal(path, **options):
    with pytest.raises(DataError) as caught:
        import_csv(path, "6E", **options)
    assert path.name in caught.value.what
    assert caught.value.remedy
    return caught.value.what


def test_prices_are_taken_exactly_as_written(tmp_path):
    bars = import_csv(written(tmp_path, *ROWS), "6E")
    assert bars.close.tolist() == [1_107_800_000, 1_107_750_000, 1_107_650_000]
    assert bars.volume.tolist() == [205, 86, 47]
    assert bars.ts_event[0] == np.datetime64("2024-01-01T23:01", "ns").astype(np.int64)
    assert (bars.symbols, bars.root, bars.tick_nano) == (("6EH4",), "6E", 50_000)


@pytest.mark.parametrize(
    "text", ["5600.123456789", "0.000000001", "9223372036.854775807", "7", "1.50000000000000"]
)
def test_nine_places_survive_without_a_float_in_between(tmp_path, text):
    row = f"2024-01-01 23:01:00,{text},{text},{text},{text},1"
    bars = import_csv(written(tmp_path, row), "mine", symbol="X", tick_nano=1)
    assert bars.close[0] == int(Decimal(text) * 10**9)


def test_every_price_of_the_real_file_is_its_decimal(real_6e):
    bars = import_csv(real_6e, "6E")
    with gzip.open(real_6e, "rt") as file:
        lines = file.read().splitlines()[1:]
    assert len(bars) == len(lines) == 29_996
    for index, name in enumerate(("open", "high", "low", "close"), start=1):
        exact = [int(Decimal(line.split(",")[index]) * 10**9) for line in lines]
        np.testing.assert_array_equal(getattr(bars, name), exact)
    assert bars.volume.sum() == sum(int(line.split(",")[5]) for line in lines)
    assert (bars.close % bars.tick_nano == 0).all()


def test_gzip_and_plain_give_the_same_bars(tmp_path):
    plain = import_csv(written(tmp_path, *ROWS), "6E")
    path = tmp_path / "6EH4.csv.gz"
    path.write_bytes(gzip.compress("\n".join((HEADER, *ROWS)).encode()))
    packed = import_csv(path, "6E")
    np.testing.assert_array_equal(plain.close, packed.close)
    np.testing.assert_array_equal(plain.ts_event, packed.ts_event)


@pytest.mark.parametrize("suffix", ["Z", "+00:00", ""])
@pytest.mark.parametrize("between", [" ", "T"])
def test_utc_may_be_written_in_several_ways(tmp_path, suffix, between):
    row = f"2024-01-01{between}23:01:00{suffix},1,1,1,1,5.0"
    bars = import_csv(written(tmp_path, row), "6E")
    assert bars.ts_event[0] == 1_704_150_060 * 10**9
    assert bars.volume[0] == 5


def test_times_of_closes_are_moved_to_the_open(tmp_path):
    path = written(tmp_path, *ROWS)
    moved = (
        import_csv(path, "6E", stamp="open").ts_event
        - import_csv(path, "6E", stamp="close").ts_event
    )
    assert moved.tolist() == [60 * 10**9] * 3
    with pytest.raises(UsageError, match="unknown stamp 'middle'"):
        import_csv(path, "6E", stamp="middle")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2024-01-01 23:03:00,abc,1,1,1,1", "column open, row 3 (line 5): 'abc' is not a decimal"),
        ("2024-01-01 23:03:00,1,,1,1,1", "column high, row 3 (line 5): '' is not a decimal"),
        ("2024-01-01 23:03:00,1,1,nan,1,1", "column low, row 3 (line 5): 'nan' is not a decimal"),
        ("2024-01-01 23:03:00,1,1,1,1e3,1", "column close, row 3 (line 5): '1e3'"),
        ("2024-01-01 23:03:00,1,1,1,1.0000000001,1", "at most 9 places"),
        ("2024-01-01 23:03:00,1,1,1,1,-4", "column volume, row 3 (line 5): '-4' is not a whole"),
        ("2024-01-01 23:03:00,1,1,1,1,1.5", "column volume, row 3 (line 5): '1.5'"),
        ("01/02/2024 23:03,1,1,1,1,1", "column timestamp_utc, row 3 (line 5): '01/02/2024 23:03'"),
        ("2024-01-01 23:03:00+01:00,1,1,1,1,1", "column timestamp_utc, row 3"),
        ("2024-13-01 23:03:00,1,1,1,1,1", "is not a time of the calendar"),
        ("2024-01-01 23:03:00,1,1,1,1", "line 5: 5 columns, expected 6"),
        ("2024-01-01 23:03:00,1,1,1,1,1,9", "line 5: 7 columns, expected 6"),
        ("2024-01-01 23:03:00,1.1,1.1,1.1,1.1,1", "row 3 (2024-01-01T23:03:00Z): duplicate"),
        ("2024-01-01 22:03:00,1.1,1.1,1.1,1.1,1", "row 3 (2024-01-01T22:03:00Z): unsorted"),
        ("2024-01-01 23:04:00,1.1,1.0,1.1,1.1,1", "column high, row 3 (2024-01-01T23:04:00Z)"),
        ("2024-01-01 23:04:00,0,1.1,0,1.1,1", "column open, row 3 (2024-01-01T23:04:00Z): price 0"),
        ("2024-01-01 23:04:00,-1.1,1.1,-1.1,1.1,1", "price -1.1 is not positive"),
    ],
)
def test_a_bad_row_is_refused_with_file_column_and_row(tmp_path, row, words):
    assert words in refusal(written(tmp_path, *ROWS, row))


def test_a_price_beyond_64_bits_is_refused_not_wrapped(tmp_path):
    row = "2024-01-01 23:01:00,1,9999999999,1,9999999999,1"
    assert "column high, row 0" in refusal(written(tmp_path, row))


@pytest.mark.parametrize(
    "header", ["time,open,high,low,close,volume", HEADER + ",vwap", "open,high,low,close,volume"]
)
def test_another_header_is_refused_with_the_columns_found(tmp_path, header):
    row = ",".join(["1"] * len(header.split(",")))
    assert f"columns are {', '.join(header.split(','))}" in refusal(
        written(tmp_path, row, header=header)
    )


def test_a_file_without_rows_is_refused(tmp_path):
    assert "no rows" in refusal(written(tmp_path))


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "6EH4.csv"
    path.touch()
    assert "empty (0 bytes)" in refusal(path)


def test_a_truncated_gzip_file_is_refused_with_its_name(tmp_path):
    path = tmp_path / "6EH4.csv.gz"
    path.write_bytes(gzip.compress("\n".join((HEADER, *ROWS)).encode())[:-12])
    assert "cannot be read" in refusal(path)


def test_a_file_that_is_no_gzip_is_refused_with_its_name(tmp_path):
    assert "cannot be read" in refusal(written(tmp_path, *ROWS, name="6EH4.csv.gz"))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert "no such file" in refusal(tmp_path / "6EH4.csv")


def test_a_wrong_root_shows_by_prices_off_its_ticks(tmp_path):
    with pytest.raises(DataError, match=r"not multiples of the tick of ES, 0.25"):
        import_csv(written(tmp_path, *ROWS), "ES", symbol="ESH4")


@pytest.mark.parametrize(
    ("name", "root", "symbol"),
    [
        ("6EH4.XCME_1min.csv.gz", "6E", "6EH4"),
        ("ESZ25.csv", "ES", "ESZ25"),
        ("NQM5-bars.csv", "NQ", "NQM5"),
    ],
)
def test_the_symbol_is_read_from_the_files_name(name, root, symbol):
    assert symbol_of(name, root) == symbol


@pytest.mark.parametrize(
    ("name", "root"), [("bars.csv", "6E"), ("ESH4.csv", "6E"), ("6EA4.csv", "6E"), ("6EH4x", "6E")]
)
def test_a_name_without_the_symbol_asks_for_it(name, root):
    with pytest.raises(UsageError) as caught:
        symbol_of(name, root)
    assert "--symbol" in caught.value.remedy


def test_an_unknown_root_needs_a_tick(tmp_path):
    path = written(tmp_path, *ROWS)
    with pytest.raises(UsageError, match="price step is not known"):
        import_csv(path, "CL", symbol="CLH4")
    assert import_csv(path, "CL", symbol="CLH4", tick_nano=50_000).tick_nano == 50_000
