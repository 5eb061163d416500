"""Timelines as Arrow tables and Parquet files."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import foxbench
from foxbench.errors import DataError, EnvironmentFault
from foxbench.sampler import timeline_file
from foxbench.sampler.assemble import timeline

MIB = 1 << 20
COLUMNS = ["first_ns", "max_ns", "min_bytes", "max_bytes", "last_bytes", "count", "phase"]
ROW = st.tuples(*[st.integers(0, 2**62)] * 6)


def raw(rows: list[tuple[int, ...]], begin_ns: int = 0) -> bytes:
    head = b"FOXTL001" + struct.pack("=qq", begin_ns, len(rows))
    return head + np.array(rows, np.int64).tobytes()


def test_a_measurement_becomes_a_table_with_units_and_phases(tmp_path: Path, hold) -> None:
    with foxbench.measure() as m:
        time.sleep(0.02)
        with m.phase("outer"):
            time.sleep(0.02)
            with m.phase("inner"):
                held = hold(32 * MIB)
                time.sleep(0.02)
            held.drop()
        time.sleep(0.02)
    path = tmp_path / "t.parquet"
    timeline_file.write(timeline_file.from_measurement(m.result), path)
    table = timeline_file.read(path)
    assert table.column_names == COLUMNS
    assert [f.metadata[b"unit"] for f in table.schema][:3] == [b"ns", b"ns", b"bytes"]
    assert all(f.metadata[b"description"] for f in table.schema)
    assert table.schema.metadata[b"foxbench.source"] == b"process"
    assert sum(table["count"].to_pylist()) == m.result.n_samples
    rows = table.to_pylist()
    assert {row["phase"] for row in rows} == {None, "outer", "inner"}
    largest = max(rows, key=lambda row: row["max_bytes"])
    assert largest["phase"] == "inner"
    assert -1_000_000_000 < rows[0]["first_ns"] < largest["max_ns"]
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@given(st.lists(ROW, max_size=50), st.integers(0, 2**40))
def test_what_the_launcher_recorded_comes_back_value_for_value(rows, begin_ns: int) -> None:
    table = timeline_file.from_raw(raw(rows, begin_ns), 1000.0)
    assert table.num_rows == len(rows)
    assert table["first_ns"].to_pylist() == [row[0] - begin_ns for row in rows]
    assert table["max_bytes"].to_pylist() == [row[3] for row in rows]
    assert table["count"].to_pylist() == [row[5] for row in rows]
    assert table.schema.metadata[b"foxbench.hz"] == b"1000"


@pytest.mark.parametrize("spoil", [lambda b: b[:-1], lambda b: b"X" + b[1:], lambda b: b[:9]])
def test_a_recording_cut_short_or_of_another_kind_is_refused(spoil) -> None:
    with pytest.raises(DataError):
        timeline_file.from_raw(spoil(raw([(1, 2, 3, 4, 5, 6)])))


def test_a_file_of_somebody_else_or_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"x\.parquet"):
        timeline_file.read(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(DataError, match="not a timeline"):
        timeline_file.read(path)
    table = timeline_file.from_raw(raw([(1, 2, 3, 4, 5, 6)]))
    metadata = {**table.schema.metadata, b"foxbench.schema_version": b"99"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(DataError, match="99"):
        timeline_file.read(path)
    pq.write_table(table.append_column("more", pa.array([1])), path)
    with pytest.raises(DataError, match="more"):
        timeline_file.read(path)
    as_float = table["max_bytes"].cast(pa.float64())
    pq.write_table(table.set_column(3, "max_bytes", as_float), path)
    with pytest.raises(DataError, match="max_bytes double"):
        timeline_file.read(path)


def test_a_timeline_without_a_sample_or_a_phase_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    timeline_file.write(timeline_file.from_raw(raw([])), path)
    assert timeline_file.read(path).num_rows == 0
    timeline_file.write(timeline_file.from_raw(raw([(1, 2, 3, 4, 5, 6)])), path)
    assert timeline_file.read(path)["phase"].to_pylist() == [None]


def test_a_place_that_cannot_be_written_costs_nothing_that_was_there(tmp_path: Path) -> None:
    table = timeline_file.from_raw(raw([]))
    with pytest.raises(EnvironmentFault, match="none"):
        timeline_file.write(table, tmp_path / "none" / "t.parquet")


def test_of_two_phases_around_a_moment_the_inner_one_is_named() -> None:
    buckets = np.array([[5, 5, 1, 1, 1, 1], [15, 15, 1, 1, 1, 1], [25, 25, 1, 1, 1, 1]], np.int64)
    with foxbench.measure() as m, m.phase("a"), m.phase("b"):
        pass
    inner, outer = sorted(m.result.intervals, key=lambda i: -i.depth)
    phases = [
        type(outer)(**{**vars(outer), "begin_ns": 0, "end_ns": 20}),
        type(inner)(**{**vars(inner), "begin_ns": 10, "end_ns": 20}),
    ]
    table = timeline_file.table(timeline(buckets), begin_ns=0, phases=phases)
    assert table["phase"].to_pylist() == ["a", "b", None]
