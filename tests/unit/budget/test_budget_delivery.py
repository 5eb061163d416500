"""Where reports go: refused early, and one that is lost costs no other."""

import io
import os
from pathlib import Path

import pytest
from budget_rows import budget, row, validation
from rich.console import Console

from foxbench.budget import result
from foxbench.budget.reports.deliver import deliver, targets
from foxbench.errors import EnvironmentFault, UsageError


def console():
    return Console(file=io.StringIO(), width=118)


def test_reports_are_written_beside_the_table(tmp_path):
    paths = {"--json": tmp_path / "v.json", "--markdown": tmp_path / "v.md"}
    paths["--html"] = tmp_path / "v.html"
    of, out = validation([row(held=budget())]), console()
    deliver(of, targets(paths), out)
    assert result.read(tmp_path / "v.json") == of
    assert (tmp_path / "v.md").read_text().startswith("## Memory")
    assert (tmp_path / "v.html").read_text().startswith("<!doctype html>")
    assert "verdict" in out.file.getvalue()
    assert sorted(os.listdir(tmp_path)) == ["v.html", "v.json", "v.md"]


def test_a_full_disk_under_one_report_leaves_the_others_and_the_table(tmp_path):
    paths = {"--json": Path("/dev/full"), "--markdown": tmp_path / "v.md"}
    of, out = validation([row(held=budget())]), console()
    with pytest.raises(EnvironmentFault, match="cannot write /dev/full: No space left") as caught:
        deliver(of, targets(paths), out)
    assert caught.value.exit_code == 5
    assert "/runs" in caught.value.remedy
    assert (tmp_path / "v.md").exists()
    assert "verdict" in out.file.getvalue()
    assert Path("/dev/full").is_char_device()


def test_a_folder_that_vanished_meanwhile_is_named(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    where = targets({"--json": folder / "v.json", "--html": tmp_path / "v.html"})
    folder.rmdir()
    with pytest.raises(EnvironmentFault, match=r"gone/v\.json"):
        deliver(validation([row()]), where, console())
    assert (tmp_path / "v.html").exists()


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    deliver(validation([row()]), targets({"--json": pipe}), console())
    assert os.read(reader, 20).startswith(b"{")
    os.close(reader)
    assert pipe.is_fifo()


def test_stdout_gets_one_report(capsysbinary):
    deliver(validation([row()]), targets({"--json": Path("-")}), console())
    assert capsysbinary.readouterr().out == result.encode(validation([row()]))


@pytest.mark.parametrize(
    "asked",
    [
        {"--json": Path("none/v.json")},
        {"--json": Path()},
        {"--json": Path("v"), "--html": Path("./v")},
        {"--json": Path("-"), "--markdown": Path("-")},
    ],
)
def test_what_could_not_be_written_is_refused_before_the_training(tmp_path, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        targets(asked)
