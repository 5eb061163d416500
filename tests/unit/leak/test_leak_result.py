import dataclasses
import json
import re

import pytest
from leak_readings import judged, made

from foxbench.errors import DataError
from foxbench.leak import result


def of(word):
    return dataclasses.replace(judged(), verdict=word)


def test_what_is_written_is_read_back(tmp_path):
    result.write(made(), tmp_path / "leak.json")
    assert result.read(tmp_path / "leak.json") == made()
    assert [p.name for p in tmp_path.iterdir()] == ["leak.json"]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ([], "colour"),
        (["verdict"], "verdict.colour"),
        (["verdict", "trends", 0, "trend", "slope"], "verdict.trends[0].trend.slope.colour"),
    ],
)
def test_an_unknown_key_is_refused_with_its_place(tmp_path, path, key):
    raw = json.loads(result.encode(made()))
    inner = raw
    for part in path:
        inner = inner[part]
    inner["colour"] = 1
    (tmp_path / "leak.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match=rf"unknown key {re.escape(key)}\n"):
        result.read(tmp_path / "leak.json")


def spoiled(**changes):
    return json.dumps(json.loads(result.encode(made())) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not the result of a leak test"),
        ("[]", "schema_version is None"),
        (spoiled(schema_version=99), "schema_version is 99"),
        (spoiled(files=7), "not the result of a leak test"),
        (spoiled(kind="dream"), "unknown verdict .* or kind 'dream'"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path, text, message):
    (tmp_path / "leak.json").write_text(text)
    with pytest.raises(DataError, match=message):
        result.read(tmp_path / "leak.json")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        result.read(tmp_path / "leak.json")


@pytest.mark.parametrize(
    ("word", "changes", "code"),
    [
        ("leak", {}, 1),
        ("clean", {}, 0),
        ("fragmentation", {}, 0),
        ("suspect", {}, 3),
        ("not_measured", {}, 3),
        # A leak found before the end is one; a clean beginning proves nothing.
        ("leak", {"status": "oom", "run_exit_code": 137}, 1),
        ("clean", {"status": "failed", "run_exit_code": 3}, 3),
        ("fragmentation", {"status": "timeout", "run_exit_code": 124}, 3),
        # What could not even start says why by its own code; a command's code is the command's.
        ("not_measured", {"status": "failed", "run_exit_code": 4}, 4),
        ("not_measured", {"status": "failed", "run_exit_code": 5}, 5),
        ("not_measured", {"status": "failed", "run_exit_code": 4, "kind": "command"}, 3),
    ],
)
def test_the_exit_code_is_the_verdict_s(word, changes, code):
    assert result.exit_code(made(of(word), **changes)) == code
