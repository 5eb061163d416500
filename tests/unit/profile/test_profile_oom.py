import pytest

from foxbench.profile import oom


def kernel_files(tmp_path, group_line, files):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(group_line)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return oom.kills(tmp_path / "proc", tmp_path / "cg")


def test_a_version_2_group_and_those_above_it_are_counted(tmp_path):
    counts = kernel_files(
        tmp_path,
        "0::/jobs/one\n",
        {
            "cg/jobs/one/memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n",
            "cg/jobs/memory.events": "oom_kill 5\n",
        },
    )
    assert sorted(counts.values()) == [2, 5]


def test_a_version_1_group_is_counted(tmp_path):
    counts = kernel_files(
        tmp_path,
        "4:cpu,cpuacct:/x\n7:memory:/x\n",
        {"cg/memory/x/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"},
    )
    assert list(counts.values()) == [1]


def test_the_machines_own_counter_is_read_where_there_is_no_group(tmp_path):
    counts = kernel_files(tmp_path, "", {"proc/vmstat": "pgfault 1\noom_kill 4\n"})
    assert list(counts.values()) == [4]


def test_nothing_readable_gives_no_counts(tmp_path):
    assert oom.kills(tmp_path / "proc", tmp_path / "cg") == {}


def test_this_kernel_can_be_asked():
    assert all(count >= 0 for count in oom.kills().values())


def test_a_kill_is_seen_in_any_counter_and_a_new_file_is_no_kill():
    assert oom.rose({"a": 1, "b": 1}, {"a": 1, "b": 2})
    assert not oom.rose({"a": 1}, {"a": 1, "b": 7})
    assert not oom.rose({"a": 1}, {})


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("shapes differ"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_a_refused_allocation_is_told_from_other_errors(error, refused):
    assert oom.is_refusal(error) is refused
