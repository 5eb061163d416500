"""``foxbench bars`` as users start it: processes of its own, real files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic

ROOT = Path(__file__).resolve().parents[2]


def bars_command(*arguments, cwd):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "foxbench.cli.main", "bars", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, cwd=cwd, capture_output=True, text=True
    )


def cells(text):
    """The two-column table as a dict."""
    rows = [line.strip("│ ").split("│") for line in text.splitlines() if line.startswith("│")]
    return {row[0].strip(): row[1].strip() for row in rows}


def test_make_writes_the_same_bars_as_the_function(tmp_path):
    done = bars_command("make", "6E", "-o", "6e.parquet", "--days", 5, "--seed", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, made = parquet.read(tmp_path / "6e.parquet"), synthetic("6E", days=5, seed=3)
    assert found.close.tobytes() == made.close.tobytes()
    assert found.source == "synthetic days=5 start=2025-04-21 seed=3"
    shown = cells(done.stdout)
    assert shown["bars"] == f"{len(made):,}"
    assert shown["days"] == "5"
    assert shown["symbols"] == "6EM5"
    assert shown["first bar"] == "2025-04-20T22:00:00Z"


def test_info_shows_every_file_in_order(tmp_path):
    for root in ("ES", "ZN"):
        bars_command("make", root, "-o", f"{root}.parquet", "--days", 1, cwd=tmp_path)
    done = bars_command("info", "ZN.parquet", "ES.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 0 <= done.stdout.index("ZN.parquet") < done.stdout.index("ES.parquet")
    assert done.stdout.count("1,380") == 2
    assert done.stderr == ""


def test_the_real_file_is_imported_and_its_stamps_questioned(real_6e, tmp_path):
    done = bars_command("import", real_6e, "-o", "real.parquet", "--root", "6E", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = cells(done.stdout)
    assert (shown["bars"], shown["symbols"], shown["off session"]) == ("29,996", "6EH4", "22")
    assert "import with --stamp close" in done.stderr
    done = bars_command(
        "import", real_6e, "-o", "real.parquet", "--root", "6E", "--stamp", "close", cwd=tmp_path
    )
    assert cells(done.stdout)["off session"] == "0"
    assert done.stderr == ""
    assert len(parquet.read(tmp_path / "real.parquet")) == 29_996


def test_a_root_of_ones_own_is_imported_with_its_tick(tmp_path):
    (tmp_path / "cl.csv").write_text(
        "timestamp_utc,open,high,low,close,volume\n2024-01-02 15:00:00,71.5,71.6,71.49,71.55,10\n"
    )
    arguments = ("import", "cl.csv", "-o", "cl.parquet", "--root", "CL", "--symbol", "CLG4")
    refused = bars_command(*arguments, cwd=tmp_path)
    assert refused.returncode == 4
    assert "--tick" in refused.stderr
    done = bars_command(*arguments, "--tick", "0.01", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert parquet.read(tmp_path / "cl.parquet").tick_nano == 10_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["make", "XX", "-o", "x.parquet"], "unknown root 'XX'"),
        (["make", "ES", "-o", "x.parquet", "--days", "0"], "days is 0"),
        (["make", "ES", "-o", "x.parquet", "--start", "soon"], "'soon' is not a date"),
        (["make", "ES", "-o", "no/such/x.parquet", "--days", "1"], "cannot write"),
        (["import", "gone.csv", "-o", "x.parquet", "--root", "6E", "--symbol", "6EH4"], "no such"),
        (["import", "gone.csv", "-o", "x.parquet", "--root", "6E"], "--symbol"),
        (["import", "a", "-o", "x", "--root", "CL", "--tick", "abc"], "tick 'abc' is not"),
        (["import", "a", "-o", "x", "--root", "CL", "--tick", "1e-10"], "at most 9 places"),
        (["info", "gone.parquet"], "cannot read gone.parquet"),
        (["info", "notes.txt"], "not a Parquet file"),
        (["info"], "Missing argument"),
        (["make", "ES"], "Missing option"),
    ],
)
def test_what_cannot_be_done_says_why_and_leaves_with_four(tmp_path, arguments, words):
    (tmp_path / "notes.txt").write_text("these are no bars\n")
    done = bars_command(*arguments, cwd=tmp_path)
    assert done.returncode == 4
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
