import dataclasses
import json
import os
import stat

import pytest
from profiles import ok_profile

from foxbench.errors import DataError, EnvironmentFault
from foxbench.profile import result


def test_a_profile_survives_writing_and_reading(tmp_path):
    profile = ok_profile()
    result.write(profile, tmp_path / "p.json")
    assert result.read(tmp_path / "p.json") == profile


def test_what_was_not_measured_is_null_and_never_zero(tmp_path):
    profile = dataclasses.replace(ok_profile(), status="failed", peak_bytes=None, losses=None)
    raw = json.loads(result.encode(profile))
    assert raw["peak_bytes"] is None
    assert raw["losses"] is None


def test_a_profile_written_over_another_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "p.json"
    result.write(ok_profile(), path)
    result.write(dataclasses.replace(ok_profile(), model="ppo"), path)
    assert result.read(path).model == "ppo"
    assert os.listdir(tmp_path) == ["p.json"]


def test_a_profile_has_the_permissions_of_an_ordinary_file(tmp_path):
    (tmp_path / "ordinary").write_text("")
    result.write(ok_profile(), tmp_path / "p.json")
    modes = [stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("ordinary", "p.json")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda raw: raw.update(peak_mb=1), "peak_mb"),
        (lambda raw: raw["phases"][1].update(walls=1), r"phases\[1\]\.walls"),
        (lambda raw: raw["provenance"].update(libs="x"), r"provenance\.libs"),
        (lambda raw: raw.update(schema_version=99), "99"),
        (lambda raw: raw.update(status="fine"), "fine"),
        (lambda raw: raw.update(peak_bytes=1.5), "peak_bytes"),
        (lambda raw: raw.pop("exit_code"), "exit_code"),
    ],
)
def test_a_key_or_value_that_no_profile_has_is_refused_by_name(tmp_path, change, named):
    raw = json.loads(result.encode(ok_profile()))
    change(raw)
    (tmp_path / "p.json").write_text(json.dumps(raw))
    with pytest.raises(DataError, match=named):
        result.read(tmp_path / "p.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"not json", b"\xff\xfe"])
def test_a_file_that_is_no_profile_is_refused_with_its_name(tmp_path, content):
    (tmp_path / "p.json").write_bytes(content)
    with pytest.raises(DataError, match=r"p\.json"):
        result.read(tmp_path / "p.json")


def test_a_missing_file_is_refused_with_its_name(tmp_path):
    with pytest.raises(DataError, match=r"gone\.json"):
        result.read(tmp_path / "gone.json")


def test_writing_into_a_folder_that_does_not_exist_says_which(tmp_path):
    with pytest.raises(EnvironmentFault, match="nowhere"):
        result.write(ok_profile(), tmp_path / "nowhere" / "p.json")
