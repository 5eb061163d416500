"""A foreign project's planted regressions are named by real asv commands and by our page."""

from __future__ import annotations

import re

import pytest
from foreign_repo import MIB, ForeignRepo

pytest.importorskip("asv")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    repo = ForeignRepo.create(tmp_path_factory.mktemp("planted"))
    repo.commit(1.0, "Start")
    repo.commit(1.0, "Say what it does")
    repo.commit(1.0, "Rename a variable")
    repo.commit(1.1, "Keep a <script>alert(1)</script> copy")
    repo.commit(1.1, "Mend a typo")
    repo.commit(1.1 * 1.03, "Widen the buffer")
    repo.commit(1.1 * 1.03, "Sort imports")
    repo.measure_all()
    return repo


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    repo = ForeignRepo.create(tmp_path_factory.mktemp("twin"))
    for i in range(6):
        repo.commit(1.0, f"Edit {i}")
    repo.measure_all()
    return repo


def asv_names(regressions, benchmark_part):
    """``{entry name: [revision of each jump]}`` of asv's own regressions.json."""
    return {
        entry[0]: [jump[1] for jump in entry[6]]
        for entry in regressions["regressions"]
        if benchmark_part in entry[0]
    }


def test_both_planted_commits_are_named_with_their_bytes(planted):
    memory, _ = planted.publish()
    assert len(memory["series"]) == 2
    for mib in (32, 64):
        found = [r for r in memory["regressions"] if r["params"] == {"mib": str(mib)}]
        assert [r["commits"] for r in found] == [[planted.hashes[5]], [planted.hashes[3]]]
        assert [r["kind"] for r in found] == ["step", "step"]
        for change, true_bytes in zip(found, (0.033 * mib * MIB, 0.1 * mib * MIB), strict=True):
            assert abs(change["bytes"] - true_bytes) <= change["noise_band_bytes"]
    assert memory["improvements"] == []


def test_the_figure_is_the_step_alone_and_says_how_it_was_measured(planted):
    memory, _ = planted.publish()
    for series in memory["series"]:
        true_bytes = 1.133 * int(series["params"]["mib"]) * MIB
        slack = series["noise_band"]["bytes"] + 256 * 1024
        assert abs(series["current"]["bytes"] - true_bytes) <= slack
        assert series["method"] in ("hwm", "sampled")
        assert series["quiet_allocator"] is True
        assert all(len(point["samples_bytes"]) == 3 for point in series["points"])


def test_asv_itself_lists_both_commits(planted):
    _, regressions = planted.publish()
    order = planted.git("rev-list", "--all", "--date-order", "--reverse").split()
    jumps = asv_names(regressions, "steppeak_fit")
    assert len(jumps) == 2
    for revisions in jumps.values():
        assert {order[r] for r in revisions} == {planted.hashes[3], planted.hashes[5]}


def test_a_ten_percent_step_at_the_last_commit_is_named_at_once(planted):
    memory, regressions = planted.publish(planted.hashes[3])
    assert [(r["commit"], r["kind"]) for r in memory["regressions"]] == [
        (planted.hashes[3], "last commit")
    ] * 2
    assert all(r["provisional"] for r in memory["regressions"])
    order = planted.git("rev-list", "--all", "--date-order", "--reverse").split()
    jumps = asv_names(regressions, "steppeak_fit")
    assert len(jumps) == 2
    assert all([order[r] for r in revs] == [planted.hashes[3]] for revs in jumps.values())


def test_a_three_percent_step_at_the_last_commit_is_named_at_once(planted):
    memory, _ = planted.publish(planted.hashes[5])
    newest = [r for r in memory["regressions"] if r["kind"] == "last commit"]
    assert [r["commit"] for r in newest] == [planted.hashes[5]] * 2


def test_asv_compare_marks_the_step(planted):
    before, after = planted.hashes[2], planted.hashes[3]
    text = planted.asv("compare", "--machine", "fox", "--factor", "1.05", before, after)
    marked = re.findall(r"^\|\s*\+\s*\|.*steppeak_fit.*$", text, re.MULTILINE)
    assert len(marked) == 2, text


def test_the_page_shows_hostile_subjects_as_text_and_asv_links_to_it(planted):
    planted.publish()
    page = (planted.root / "html" / "memory.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'href="memory.html">Memory</a>' in (planted.root / "html" / "index.html").read_text()


def test_a_history_without_plants_gives_no_alarm(twin):
    memory, regressions = twin.publish()
    assert len(memory["series"]) == 2
    assert memory["regressions"] == []
    assert memory["improvements"] == []
    assert regressions["regressions"] == []
