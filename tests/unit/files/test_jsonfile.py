import json
import os
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench import jsonfile
from foxbench.errors import DataError, EnvironmentFault
from foxbench.text import plain


@dataclass(frozen=True)
class Inner:
    name: str
    n_bytes: int | None


@dataclass(frozen=True)
class Outer:
    schema_version: int
    rows: tuple[Inner, ...]
    free: dict[str, int]


MADE = Outer(3, (Inner("a", None), Inner("b", 2**62)), {"any key": 1})


def read(path):
    return jsonfile.read(path, Outer, 3, "a test", "make it again")


def write(path, record):
    jsonfile.write_atomically(path, jsonfile.encode(record))


def test_what_was_written_is_read_back(tmp_path):
    write(tmp_path / "x.json", MADE)
    assert read(tmp_path / "x.json") == MADE
    assert (tmp_path / "x.json").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda raw: raw.update(schema_version=4), "schema_version is 4, this foxbench reads 3"),
        (lambda raw: raw.pop("schema_version"), "schema_version is None"),
        (lambda raw: raw.update(colour=1), "unknown key colour"),
        (lambda raw: raw["rows"][1].update(colour=1), r"unknown key rows\[1\].colour"),
        (lambda raw: raw["rows"][0].update(n_bytes="many"), "not a test"),
        (lambda raw: raw["rows"][0].pop("name"), "not a test"),
    ],
)
def test_what_is_not_such_a_file_is_refused_by_name(tmp_path, change, named):
    raw = json.loads(jsonfile.encode(MADE))
    change(raw)
    (tmp_path / "x.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match=named) as caught:
        read(tmp_path / "x.json")
    assert "x.json" in caught.value.what
    assert caught.value.remedy == "make it again"


@pytest.mark.parametrize("content", [b"", b"[]", b"nonsense", b"\xff", b"3"])
def test_what_is_no_such_json_is_refused(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.json"):
        read(tmp_path / "x.json")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "none.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    write(tmp_path / "x.json", MADE)
    with pytest.raises(EnvironmentFault, match="cannot write"):
        jsonfile.write_atomically(tmp_path / "none" / "x.json", b"new")
    (tmp_path / "taken").mkdir()
    with pytest.raises(EnvironmentFault, match="taken"):
        jsonfile.write_atomically(tmp_path / "taken", b"new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["taken", "x.json"]


def test_a_written_file_has_the_permissions_of_an_ordinary_one(tmp_path):
    old = os.umask(0o027)
    try:
        jsonfile.write_atomically(tmp_path / "x", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


@given(st.text())
def test_plain_text_is_one_line_that_any_file_can_hold(text):
    shown = plain(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    shown.encode("utf-8")
    assert plain(shown) == shown
