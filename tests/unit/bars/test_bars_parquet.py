import os
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bar_making import MINUTE, changed, make_bars
from hypothesis import given, settings
from hypothesis import strategies as st

from foxbench.bars import Bars
from foxbench.bars.parquet import SCHEMA, read, write
from foxbench.errors import DataError, UsageError


def assert_same(a, b):
    for field in fields(Bars):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y, err_msg=field.name)
        else:
            assert x == y, field.name


@pytest.fixture
def table(five, tmp_path):
    """A good file's table, to be spoilt and written again."""
    write(five, tmp_path / "good.parquet")
    return pq.read_table(tmp_path / "good.parquet")


def refusal(table, tmp_path, **options):
    path = tmp_path / "bad.parquet"
    pq.write_table(table, path)
    with pytest.raises(DataError) as caught:
        read(path, **options)
    assert "bad.parquet" in caught.value.what
    assert caught.value.remedy
    return caught.value.what


def replaced(table, name, array, kind=None):
    index = table.schema.get_field_index(name)
    return table.set_column(index, pa.field(name, kind or array.type), array)


@st.composite
def any_bars(draw):
    n = draw(st.integers(1, 40))
    column = st.lists(st.integers(1, 10**18), min_size=n, max_size=n)
    prices = np.sort([draw(column) for _ in range(4)], axis=0)
    turned = draw(st.booleans())
    steps = draw(st.lists(st.integers(1, 10**14), min_size=n, max_size=n))
    codes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    volume = draw(st.lists(st.integers(0, 2**64 - 1), min_size=n, max_size=n))
    ids = draw(st.lists(st.integers(0, 2**32 - 1), min_size=n, max_size=n))
    return make_bars(
        n,
        ts_event=np.cumsum(steps, dtype=np.int64),
        low=prices[0],
        open=prices[1 + turned],
        close=prices[2 - turned],
        high=prices[3],
        volume=np.array(volume, dtype=np.uint64),
        instrument_id=np.array(ids, dtype=np.uint32),
        symbol_codes=np.array(codes, dtype=np.int32),
        symbols=("ESM5", "ESU5", "ESZ5"),
        source=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    )


@settings(max_examples=40, deadline=None)
@given(bars=any_bars())
def test_every_bar_survives_the_round_trip(bars, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round.parquet"
    write(bars, path)
    assert_same(read(path), bars)


def test_the_file_has_the_promised_schema_and_metadata(table):
    assert table.schema.equals(SCHEMA)
    meta = table.schema.metadata
    assert (meta[b"root"], meta[b"tick_nano"], meta[b"source"]) == (b"ES", b"250000000", b"test")


def test_writing_leaves_no_temporary_file_and_the_usual_permissions(five, tmp_path):
    write(five, tmp_path / "a.parquet")
    (tmp_path / "plain").touch()
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "plain"]
    assert (tmp_path / "a.parquet").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_bars_that_are_refused_leave_the_old_file_as_it_was(five, tmp_path):
    path = tmp_path / "a.parquet"
    write(five, path)
    with pytest.raises(DataError):
        write(make_bars(close=changed(five.close, 0, 0)), path)
    assert_same(read(path), five)
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_a_folder_that_is_not_there_is_a_usage_error(five, tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        write(five, tmp_path / "missing" / "a.parquet")


def test_float_prices_are_rounded_to_the_nano(table, five, tmp_path):
    for name in ("open", "high", "low", "close"):
        table = replaced(table, name, pa.array(getattr(five, name) / 1e9))
    pq.write_table(table, tmp_path / "f.parquet")
    assert_same(read(tmp_path / "f.parquet"), five)


def test_databentos_own_columns_are_accepted_when_the_root_is_named(table, five, tmp_path):
    n = table.num_rows
    table = replaced(table, "symbol", pa.array(["ESM5"] * n))
    table = table.append_column("rtype", pa.array([33] * n, pa.uint8()))
    table = table.append_column("publisher_id", pa.array([1] * n, pa.uint16()))
    path = tmp_path / "databento.parquet"
    pq.write_table(table.replace_schema_metadata({}), path)
    found = read(path, root="ES")
    assert (found.root, found.tick_nano, found.source) == ("ES", 250_000_000, path.name)
    np.testing.assert_array_equal(found.close, five.close)
    assert found.symbols == ("ESM5",)


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_missing_column_is_refused_with_its_name(table, tmp_path, name):
    assert f"column {name} is missing" in refusal(table.drop_columns(name), tmp_path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ts_event", pa.timestamp("us", "UTC")),
        ("ts_event", pa.timestamp("ns")),
        ("open", pa.int32()),
        ("close", pa.float32()),
        ("volume", pa.int64()),
        ("instrument_id", pa.int64()),
        ("symbol", pa.int64()),
    ],
)
def test_a_column_of_another_type_is_refused_with_both_types(table, tmp_path, name, kind):
    array = pa.array(np.zeros(table.num_rows, np.int64)).cast(kind)
    what = refusal(replaced(table, name, array), tmp_path)
    assert f"column {name} is {kind}, expected" in what


def test_an_unknown_column_is_refused_with_its_name(table, tmp_path):
    table = table.append_column("vwap", pa.array(np.zeros(table.num_rows)))
    assert "unknown column 'vwap'" in refusal(table, tmp_path)


def test_a_column_that_is_there_twice_is_refused(table, tmp_path):
    table = table.append_column("open", table.column("open"))
    assert "column open is there 2 times" in refusal(table, tmp_path)


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_null_is_refused_with_column_row_and_time(table, tmp_path, name):
    values = table.column(name).to_pylist()
    if name == "ts_event":
        values = [stamp.value for stamp in table.column(name)]
    values[3] = None
    kind = table.schema.field(name).type
    what = refusal(replaced(table, name, pa.array(values, kind), kind), tmp_path)
    assert f"column {name}, row 3" in what
    assert "null" in what
    assert ("2025-04-20T22:03:00Z" in what) == (name != "ts_event")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e10])
def test_a_float_price_that_is_no_number_or_too_large_is_refused(table, five, tmp_path, value):
    prices = changed(five.close / 1e9, 2, value)
    what = refusal(replaced(table, "close", pa.array(prices)), tmp_path)
    assert f"column close, row 2: price is {value}" in what


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        ("close", 1, 0, "price 0 is not positive"),
        ("low", 2, 5601 * 10**9, "low 5601 is above open 5600.5"),
        ("high", 2, 5599 * 10**9, "high 5599 is below open 5600.5"),
        ("ts_event", 2, 0, "unsorted: earlier than row 1"),
        ("ts_event", 1, 1_745_186_400 * 10**9, "duplicate: the same minute as row 0"),
    ],
)
def test_values_no_market_has_are_refused_with_column_and_row(
    table, five, tmp_path, column, row, value, words
):
    array = pa.array(changed(getattr(five, column), row, value))
    what = refusal(replaced(table, column, array.cast(table.schema.field(column).type)), tmp_path)
    assert f"column {column}, row {row} (" in what
    assert words in what


@pytest.mark.parametrize("key", ["root", "tick_nano", "source"])
def test_missing_metadata_is_refused_with_the_key(table, tmp_path, key):
    meta = {k: v for k, v in table.schema.metadata.items() if k != key.encode()}
    what = refusal(table.replace_schema_metadata(meta), tmp_path)
    assert what.endswith(f"file metadata is missing: {key}")


@pytest.mark.parametrize("tick", ["0", "-5", "0.25", "x"])
def test_a_tick_that_is_no_positive_integer_is_refused(table, tmp_path, tick):
    meta = {**table.schema.metadata, b"tick_nano": tick.encode()}
    assert f"tick_nano is {tick!r}" in refusal(table.replace_schema_metadata(meta), tmp_path)


def test_a_file_of_another_root_than_asked_for_is_refused(table, tmp_path):
    assert "holds root 'ES', not 'NQ'" in refusal(table, tmp_path, root="NQ")


def test_a_file_without_rows_is_refused(table, tmp_path):
    assert "no rows" in refusal(table.slice(0, 0), tmp_path)


def test_an_empty_file_is_refused_with_its_name(tmp_path):
    (tmp_path / "e.parquet").touch()
    with pytest.raises(DataError, match=r"e\.parquet: the file is empty"):
        read(tmp_path / "e.parquet")


def test_a_file_that_is_not_parquet_is_refused_with_its_first_bytes(tmp_path):
    (tmp_path / "n.parquet").write_text("timestamp_utc,open\n")
    with pytest.raises(DataError, match=r"n\.parquet: not a Parquet file \(begins with b'time'\)"):
        read(tmp_path / "n.parquet")


@pytest.mark.parametrize("kept", [4, 11, 200, -1])
def test_a_truncated_file_is_refused_with_its_name(five, tmp_path, kept):
    path = tmp_path / "t.parquet"
    write(five, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"t\.parquet: truncated"):
        read(path)


def test_a_file_with_a_damaged_middle_is_refused_with_its_name(five, tmp_path):
    path = tmp_path / "d.parquet"
    write(five, path)
    content = path.read_bytes()
    path.write_bytes(content[:-60] + b"\xff" * 40 + content[-20:])
    with pytest.raises(DataError, match=r"d\.parquet: damaged"):
        read(path)


def test_a_file_that_is_not_there_is_refused_with_its_path(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*gone\.parquet: No such file"):
        read(tmp_path / "gone.parquet")


def test_several_row_groups_with_different_dictionaries_are_joined(tmp_path):
    n = 6
    codes = np.array([0, 0, 0, 1, 1, 1], np.int32)
    bars = make_bars(n, symbol_codes=codes, symbols=("ESM5", "ESU5"))
    write(bars, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    texts = replaced(table, "symbol", table.column("symbol").cast(pa.string()))
    pq.write_table(texts, tmp_path / "g.parquet", row_group_size=3)
    found = read(tmp_path / "g.parquet")
    assert [found.symbol_at(i) for i in range(n)] == ["ESM5"] * 3 + ["ESU5"] * 3
    assert found.ts_event[5] - found.ts_event[0] == 5 * MINUTE
