"""Memory limits on made-up machines: which cgroup holds, and what it means for a peak."""

from __future__ import annotations

from pathlib import Path

import pytest

from foxbench.sampler.doctor import cgroup, limits
from foxbench.sampler.doctor.check import Roots

GIB = 1 << 30
V2 = "31 23 0:28 / {cg} rw,relatime - cgroup2 cgroup2 rw\n"
V1 = "35 31 0:32 / {cg}/memory rw,relatime - cgroup cgroup rw,memory\n"
V1_CPU = "36 31 0:33 / {cg}/cpu rw,relatime - cgroup cgroup rw,cpu\n"
NO_LIMIT_V1 = "9223372036854771712\n"


@pytest.fixture
def machine(tmp_path: Path):
    """Make the files of a machine and return its roots; ``{cg}`` stands for its cgroup mount."""

    def make(**files: str) -> Roots:
        for name, text in {"meminfo": f"MemTotal: {16 * GIB // 1024} kB\n", **files}.items():
            folder = tmp_path if name.startswith("cg__") else tmp_path / "proc"
            path = folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(cg=tmp_path / "cg"))
        return Roots(proc=tmp_path / "proc", sys=tmp_path / "sys")

    return make


def v2(own: str = "0::/a/b\n", mountinfo: str = V2, **files: str) -> dict[str, str]:
    return {
        "self__mountinfo": mountinfo,
        "self__cgroup": own,
        "cg__cgroup.controllers": "cpu memory\n",
        **files,
    }


MACHINES = {
    "no cgroup": ({"self__mountinfo": "", "self__cgroup": ""}, "none", None, None),
    "no controller in v2": (
        {**v2(), "cg__cgroup.controllers": "cpu\n", "cg__a__b__memory.max": "1\n"},
        "v2",
        None,
        None,
    ),
    "the parent has the smaller limit": (
        v2(**{"cg__a__memory.max": str(4 * GIB), "cg__a__b__memory.max": str(8 * GIB)}),
        "v2",
        "v2",
        4 * GIB,
    ),
    "no limit": (v2(**{"cg__a__b__memory.max": "max\n"}), "v2", "v2", None),
    "a container's own mount, the path the host's": (
        v2("0::/docker/abc\n", **{"cg__memory.max": str(2 * GIB)}),
        "v2",
        "v2",
        2 * GIB,
    ),
    "a path that climbs out of its namespace": (
        v2("0::/../memory\n", **{"cg__memory.max": str(2 * GIB)}),
        "v2",
        "v2",
        2 * GIB,
    ),
    "only a part of the hierarchy is mounted": (
        v2(
            "0::/docker/abc/job\n",
            "31 23 0:28 /docker/abc {cg} rw - cgroup2 cgroup2 rw\n",
            **{"cg__job__memory.max": str(GIB), "cg__memory.max": str(2 * GIB)},
        ),
        "v2",
        "v2",
        GIB,
    ),
    "hybrid, memory in v1": (
        {
            "self__mountinfo": V1_CPU + V1 + V2,
            "self__cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n",
            "cg__memory__a__memory.limit_in_bytes": str(3 * GIB),
            "cg__memory__memory.limit_in_bytes": NO_LIMIT_V1,
        },
        "hybrid",
        "v1",
        3 * GIB,
    ),
    "v1 without a limit": (
        {
            "self__mountinfo": V1,
            "self__cgroup": "4:memory:/\n",
            "cg__memory__memory.limit_in_bytes": NO_LIMIT_V1,
        },
        "v1",
        "v1",
        None,
    ),
    "lines that make no sense": (
        {"self__mountinfo": "x\n - \n- - -\n", "self__cgroup": "x\n::\n"},
        "none",
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_limit_in_force_is_the_smallest_on_the_way_up(machine, name: str) -> None:
    files, layout, version, limit = MACHINES[name]
    roots = machine(**files)
    values = limits.memory_limit(roots).values
    assert cgroup.layout(roots) == layout == values["layout"]
    assert (values["cgroup"], values["limit_bytes"]) == (version, limit)
    assert values["host_bytes"] == 16 * GIB


def test_a_limit_is_told_beside_what_the_machine_has(machine) -> None:
    found = limits.memory_limit(machine(**v2(**{"cg__a__b__memory.max": str(4 * GIB)})))
    assert found.finding == "cgroup v2: 4.00 GiB of the machine's 16.00 GiB"


def test_a_limit_above_the_machine_is_none(machine) -> None:
    found = limits.memory_limit(machine(**v2(**{"cg__a__b__memory.max": str(64 * GIB)})))
    assert "sets none: all 16.00 GiB" in found.finding


def test_a_machine_that_hides_its_memory_is_said_to_be_unknown(machine) -> None:
    roots = machine(**v2(**{"cg__a__b__memory.max": str(GIB)}), meminfo="")
    assert limits.memory_limit(roots).values["host_bytes"] is None
    assert "the machine's unknown" in limits.memory_limit(roots).finding
    assert limits.swap(roots).status == "info"
    assert limits.swap(roots).values == {"swap_bytes": None}


def test_memory_high_reclaims_what_a_peak_should_show(machine) -> None:
    files = {"cg__a__memory.high": str(GIB), "cg__a__b__memory.max": str(2 * GIB)}
    found = limits.memory_limit(machine(**v2(**files)))
    assert (found.status, found.values["high_bytes"]) == ("limited", GIB)
    assert "memory.high" in found.remedy


def test_an_old_kernel_has_no_peak_of_a_cgroup(machine) -> None:
    files = v2(**{"cg__a__b__memory.max": "max\n"})
    old = limits.cgroup_peak(machine(**files))
    assert ("5.19" in old.remedy, old.values["peak_bytes"]) == (True, None)
    found = limits.cgroup_peak(machine(**files, **{"cg__a__b__memory.peak": "4096\n"}))
    assert (found.status, found.values["peak_bytes"]) == ("ok", 4096)


def test_swap_is_said_to_shrink_resident_sets(machine) -> None:
    assert limits.swap(machine(meminfo="SwapTotal: 1048576 kB\n")).status == "limited"
    assert limits.swap(machine(meminfo="SwapTotal: 0 kB\n")).status == "ok"


@pytest.mark.parametrize(
    ("mode", "word"), [("0", "seldom"), ("1", "never"), ("2", "strict"), ("", "not known")]
)
def test_overcommit_tells_how_memory_ends(machine, mode: str, word: str) -> None:
    assert word in limits.overcommit(machine(sys__vm__overcommit_memory=mode + "\n")).finding
