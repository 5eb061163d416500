"""The summary of a page that foxbench.site itself made of a history."""

import json

import pytest

from foxbench.cli.main import main
from foxbench.history.changes import judge
from foxbench.history.results import History
from foxbench.history.series import Commit, Point, Series
from foxbench.site.document import build_document

MIB = 2**20


class Repo:
    """The two calls that the document makes to asv's repository."""

    def get_range_spec(self, good, bad):
        return f"{good}..{bad}"

    def get_hashes_from_range(self, spec):
        return [spec.split("..")[1]]


def commits(n):
    return [Commit(f"{i:040x}", i, 1_700_000_000_000 + i, "A", "text") for i in range(n)]


def series(name, values_mib, machine="vm", last_status="ok"):
    points = [
        Point(
            commit,
            "ok" if value is not None else last_status,
            None if value is None else int(value * MIB),
            None if value is None else (int(value * MIB),) * 3,
            n_measurements=3,
        )
        for commit, value in zip(commits(len(values_mib)), values_mib, strict=True)
    ]
    return Series(name, (), machine, "py3.11", "main", "steppeak", True, 2, tuple(points))


@pytest.fixture
def summary(tmp_path, capsys):
    """Write memory.json of the series and return what the command prints and exits with."""

    def show(*all_series):
        history = History("demo", tuple(all_series), tuple(commits(20)))
        verdicts = [judge(s) for s in all_series]
        document = build_document(history, verdicts, Repo(), "")
        (tmp_path / "memory.json").write_text(json.dumps(document))
        code = main(["site", "summary", str(tmp_path)])
        return code, capsys.readouterr()

    return show


def test_the_newest_figure_of_every_benchmark_is_shown_in_mib(summary):
    code, output = summary(series("step.Dqn", [10, 10, 10]), series("step.Tft", [30, 30, 30.5]))
    assert code == 0
    lines = {line.split()[1]: line for line in output.out.splitlines() if "step." in line}
    assert "10.00" in lines["step.Dqn"]
    assert "30.50" in lines["step.Tft"]


def test_a_standing_regression_is_named_with_its_size_and_commit(summary):
    _, output = summary(series("step.Dqn", [10] * 8 + [40] * 8))
    assert "regression: step.Dqn: step +30.00 MiB at 00000000" in output.out


def test_no_regression_no_such_line(summary):
    _, output = summary(series("step.Dqn", [10] * 16))
    assert "regression" not in output.out
    assert "within noise" in output.out


def test_a_failed_newest_run_shows_its_status_and_no_figure(summary):
    _, output = summary(series("step.Dqn", [10, 10, None], last_status="failed"))
    (line,) = [line for line in output.out.splitlines() if "step.Dqn" in line and "│" in line]
    assert "failed" in line
    assert "0.00" not in line.split("failed")[0]


def test_the_machine_is_shown_only_where_there_are_several(summary):
    assert "machine" not in summary(series("a", [1, 1]), series("b", [1, 1]))[1].out
    both = summary(series("a", [1, 1], machine="one"), series("a", [1, 1], machine="two"))[1].out
    assert "machine" in both
    assert "one" in both
    assert "two" in both


def test_the_path_of_the_page_is_printed_where_there_is_one(summary, tmp_path):
    assert "memory.html" not in summary(series("a", [1, 1]))[1].out
    (tmp_path / "memory.html").write_text("<html>")
    assert str(tmp_path / "memory.html") in summary(series("a", [1, 1]))[1].out


def test_a_name_with_markup_is_shown_as_it_is(summary):
    assert "a[red]b" in summary(series("a[red]b", [1, 1]))[1].out


@pytest.mark.parametrize(
    ("content", "named"),
    [(None, "cannot read"), ("{", "not JSON"), ('{"schema_version": 9}', "9"), ("[]", "None")],
)
def test_a_folder_without_a_readable_page_is_refused_with_its_remedy(
    tmp_path, capsys, content, named
):
    if content is not None:
        (tmp_path / "memory.json").write_text(content)
    assert main(["site", "summary", str(tmp_path)]) == 4
    err = capsys.readouterr().err
    assert named in err
    assert "publish" in err
