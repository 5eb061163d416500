"""Every check of the doctor, on made-up machines: the cause it names and the remedy it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from foxbench.errors import EnvironmentFault, SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor import exactness, limits, process, trees
from foxbench.sampler.doctor.check import NEEDS, STATUSES, Roots
from foxbench.sampler.doctor.examine import GROUPS, examine

GIB = 1 << 30
V2 = "31 23 0:28 / {cg} rw,relatime - cgroup2 cgroup2 rw\n"
V1 = "35 31 0:32 / {cg}/memory rw,relatime - cgroup cgroup rw,memory\n"


@pytest.fixture
def machine(tmp_path: Path):
    """Make the files of a machine and return its roots; ``{cg}`` stands for its cgroup mount."""

    def make(**files: str) -> Roots:
        for name, text in {"self__statm": "1 1 1 0 0 1 0\n", **files}.items():
            path = tmp_path / "proc" / name.replace("__", "/")
            if name.startswith("cg__"):
                path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(cg=tmp_path / "cg", proc=tmp_path / "proc"))
        return Roots(proc=tmp_path / "proc", sys=tmp_path / "sys")

    return make


def mount(options: str, of_fs: str = "rw") -> str:
    return f"22 27 0:21 / {{proc}} {options} - proc proc {of_fs}\n"


@pytest.mark.parametrize(
    ("mountinfo", "status", "word", "remedy"),
    [
        (mount("rw,relatime"), "ok", "writable", ""),
        (mount("ro,relatime"), "limited", "read-only", "remount,rw"),
        (mount("rw", "rw,hidepid=2"), "limited", "hidepid=2", "hidepid=0"),
        (mount("rw", "rw,hidepid=invisible"), "limited", "hidepid=invisible", "hidepid=0"),
        (mount("rw", "rw,hidepid=off"), "ok", "writable", ""),
        (mount("rw", "rw,subset=pid"), "limited", "subset=pid", "remount"),
        ("", "limited", "not in the list of mounts", "below"),
    ],
)
def test_how_proc_is_mounted(machine, mountinfo: str, status: str, word: str, remedy: str) -> None:
    found = process.procfs(machine(self__mountinfo=mountinfo))
    assert (found.status, word in found.finding, remedy in found.remedy) == (status, True, True)


def test_no_proc_at_all_leaves_nothing_to_measure(tmp_path: Path) -> None:
    found = process.procfs(Roots(proc=tmp_path / "none"))
    assert (found.status, found.needed_for) == ("missing", "all")
    assert "mount -t proc" in found.remedy


@pytest.mark.parametrize(
    ("problem", "has_file", "remedy"),
    [
        ("a write to /proc/self/clear_refs is accepted and does nothing", True, "gVisor"),
        ("resetting the mark: No such file or directory", False, "CONFIG_PROC_PAGE_MONITOR"),
        ("resetting the mark: Read-only file system", True, "read-write"),
        ("resetting the mark: Permission denied", True, "as the user"),
    ],
)
def test_why_a_mark_cannot_be_reset(
    machine, monkeypatch: pytest.MonkeyPatch, problem: str, has_file: bool, remedy: str
) -> None:
    monkeypatch.setattr(process, "hwm_problem", lambda: problem)
    found = process.high_water_mark(machine(**({"self__clear_refs": ""} if has_file else {})))
    assert (found.status, found.needed_for, found.finding) == ("missing", "exact", problem)
    assert remedy in found.remedy


def test_a_mark_that_the_user_switched_off_names_the_variable(machine, monkeypatch) -> None:
    monkeypatch.setenv("FOXBENCH_NO_CLEAR_REFS", "1")
    assert "unset FOXBENCH_NO_CLEAR_REFS" in process.high_water_mark(machine()).remedy


@pytest.mark.parametrize(
    ("version", "status", "word"),
    [
        ((6, 16), "ok", "samples are exact"),
        ((6, 8), "limited", "both lag"),
        ((5, 15), "ok", "63 pages a thread"),
    ],
)
def test_what_the_kernels_version_means(
    machine, monkeypatch, version: tuple[int, int], status: str, word: str
) -> None:
    monkeypatch.setattr(lowlevel, "kernel_version", lambda: version)
    found = exactness.kernel(machine())
    assert (found.status, word in found.finding) == (status, True)
    assert found.values["populate_read"] == (version >= (5, 14))


def test_a_machine_with_many_cpus_has_a_rough_mark(machine, monkeypatch) -> None:
    monkeypatch.setattr(lowlevel, "error_bound_here", lambda: 500 << 20)
    found = exactness.error_bound(machine())
    assert (found.status, found.values["err_bytes"]) == ("limited", 500 << 20)
    assert "fewer CPUs" in found.remedy


def test_huge_pages_everywhere_are_warned_of(tmp_path: Path, machine) -> None:
    roots = machine()
    assert exactness.huge_pages(roots).status == "info"
    path = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    path.parent.mkdir(parents=True)
    path.write_text("[always] madvise never\n")
    assert exactness.huge_pages(roots).status == "limited"
    path.write_text("always madvise [never]\n")
    assert exactness.huge_pages(roots).status == "ok"


def test_a_preloaded_allocator_is_named(machine) -> None:
    found = exactness.allocator(machine(self__maps="7f0 r-xp /usr/lib/libjemalloc.so.2\n"))
    assert (found.status, "jemalloc" in found.finding) == ("limited", True)


@pytest.mark.parametrize(
    ("files", "cgroup", "limit"),
    [
        ({"self__mountinfo": "", "self__cgroup": ""}, None, None),
        (
            {
                "self__mountinfo": V2,
                "self__cgroup": "0::/a/b\n",
                "cg__cgroup.controllers": "cpu memory\n",
                "cg__a__memory.max": str(4 * GIB),  # the parent's is the smaller one
                "cg__a__b__memory.max": str(8 * GIB),
            },
            "v2",
            4 * GIB,
        ),
        (
            {
                "self__mountinfo": V2,
                "self__cgroup": "0::/../host/path\n",  # a container: not below its own mount
                "cg__cgroup.controllers": "memory\n",
                "cg__memory.max": str(2 * GIB),
            },
            "v2",
            2 * GIB,
        ),
        (
            {
                "self__mountinfo": V2,
                "self__cgroup": "0::/a\n",
                "cg__cgroup.controllers": "memory\n",
                "cg__a__memory.max": "max\n",
            },
            "v2",
            None,
        ),
        (
            {
                "self__mountinfo": V1 + V2,
                "self__cgroup": "4:memory:/a\n0::/\n",
                "cg__memory__a__memory.limit_in_bytes": str(3 * GIB),
                "cg__memory__memory.limit_in_bytes": "9223372036854771712\n",
            },
            "v1",
            3 * GIB,
        ),
    ],
)
def test_the_limit_in_force_is_the_smallest_on_the_way_up(
    machine, files: dict[str, str], cgroup: str | None, limit: int | None
) -> None:
    found = limits.memory_limit(machine(meminfo=f"MemTotal: {16 * GIB // 1024} kB\n", **files))
    assert (found.values["cgroup"], found.values["limit_bytes"]) == (cgroup, limit)
    assert found.values["host_bytes"] == 16 * GIB


def test_an_old_kernel_has_no_peak_of_a_cgroup(machine) -> None:
    files = {
        "self__mountinfo": V2,
        "self__cgroup": "0::/a\n",
        "cg__cgroup.controllers": "memory\n",
        "cg__a__memory.max": "max\n",
    }
    assert "5.19" in limits.cgroup_peak(machine(**files)).remedy
    found = limits.cgroup_peak(machine(**files, **{"cg__a__memory.peak": "4096\n"}))
    assert (found.status, found.values["peak_bytes"]) == ("ok", 4096)


def test_swap_is_said_to_shrink_resident_sets(machine) -> None:
    assert limits.swap(machine(meminfo="SwapTotal: 1048576 kB\n")).status == "limited"
    assert limits.swap(machine(meminfo="SwapTotal: 0 kB\n")).status == "ok"


def test_a_kernel_without_children_files_is_scanned(machine) -> None:
    found = trees.children_files(machine())
    assert (found.status, "CONFIG_PROC_CHILDREN" in found.remedy) == ("limited", True)


def test_a_kernel_without_pss_says_what_will_be_null(machine) -> None:
    found = trees.proportional_set(machine())
    assert (found.status, "peak_tree_pss_bytes" in found.remedy) == ("missing", True)


def test_a_forbidden_kcmp_says_what_it_costs(machine, monkeypatch) -> None:
    def refuse(_a: int, _b: int) -> bool:
        raise SamplerError("comparing: Operation not permitted", 1)

    monkeypatch.setattr(lowlevel, "same_memory", refuse)
    found = trees.compare_memory(machine())
    assert (found.status, "vfork" in found.finding) == ("limited", True)


def test_a_missing_launcher_is_built(machine, monkeypatch) -> None:
    monkeypatch.setattr(trees, "launcher_path", lambda: "/no/such/launcher")
    found = trees.launcher(machine())
    assert (found.status, "pip install" in found.remedy) == ("missing", True)


def test_what_is_missing_decides_the_exit_code(monkeypatch) -> None:
    assert examine().exit_code == 0
    monkeypatch.setattr(process, "hwm_problem", lambda: "Read-only file system")
    sampled = examine()
    assert (sampled.exit_code, "lower bounds" in sampled.summary) == (3, True)

    def unbuilt() -> None:
        raise EnvironmentFault("the compiled sampler cannot be loaded", "build it")

    monkeypatch.setattr(process, "extension", unbuilt)
    nothing = examine()
    assert (nothing.exit_code, "cannot be loaded" in nothing.summary) == (5, True)


def test_every_check_is_well_formed_and_whatever_is_not_well_has_a_remedy() -> None:
    found = examine()
    assert list(found.groups) == list(GROUPS)
    checks = [check for checks in found.groups.values() for check in checks]
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert check.status in STATUSES
        assert check.needed_for in NEEDS
        assert check.finding
        if check.status in ("limited", "missing"):
            assert check.remedy, check.name
