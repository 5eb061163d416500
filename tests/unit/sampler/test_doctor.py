"""Checks of the doctor on made-up machines: the cause each names and the remedy it gives."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from foxbench.errors import SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.device.probe import Probe
from foxbench.sampler.device.result import DeviceInfo
from foxbench.sampler.doctor import device, exactness, process, procfs, software, timing, trees
from foxbench.sampler.doctor.check import Roots, size
from foxbench.sampler.handles import SamplerStats, SamplerThread
from foxbench.sampler.provenance import MarkTrial


@pytest.fixture
def machine(tmp_path: Path):
    """Make the files of a machine and return its roots."""

    def make(**files: str) -> Roots:
        for name, text in {"self__statm": "1 1 1 0 0 1 0\n", **files}.items():
            path = tmp_path / "proc" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(proc=tmp_path / "proc"))
        return Roots(proc=tmp_path / "proc", sys=tmp_path / "sys")

    return make


def mount(options: str, of_fs: str = "rw", kind: str = "proc") -> str:
    return f"22 27 0:21 / {{proc}} {options} - {kind} {kind} {of_fs}\n"


@pytest.mark.parametrize(
    ("mountinfo", "status", "word", "remedy"),
    [
        (mount("rw,relatime"), "ok", "writable", ""),
        (mount("ro,relatime"), "limited", "read-only", "remount,rw"),
        (mount("rw", "rw,hidepid=2"), "limited", "hidepid=2", "hidepid=0"),
        (mount("rw", "rw,hidepid=invisible"), "limited", "hidepid=invisible", "hidepid=0"),
        (mount("rw", "rw,hidepid=off"), "ok", "writable", ""),
        (mount("rw", "rw,subset=pid"), "limited", "subset=pid", "mount -t proc"),
        (mount("ro") + mount("rw"), "ok", "writable", ""),  # the last over a place shows
        (mount("rw") + mount("rw", kind="tmpfs"), "limited", "not in the list", "below"),
        ("", "limited", "not in the list of mounts", "below"),
        ("garbage\n - \n1 2\n", "limited", "not in the list of mounts", "below"),
    ],
)
def test_how_proc_is_mounted(
    machine, monkeypatch, mountinfo: str, status: str, word: str, remedy: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = procfs.procfs(machine(self__mountinfo=mountinfo))
    assert (found.status, word in found.finding, remedy in found.remedy) == (status, True, True)


def test_every_fault_of_proc_is_named_with_its_own_remedy(machine, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = procfs.procfs(machine(self__mountinfo=mount("ro", "rw,hidepid=1,subset=pid")))
    for word in ("read-only", "hidepid=1", "subset=pid"):
        assert word in found.finding
    assert found.remedy.count(";") >= 2


def test_hidepid_does_not_hinder_root(machine, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = procfs.procfs(machine(self__mountinfo=mount("rw", "rw,hidepid=2")))
    assert (found.status, "hides nothing from root" in found.finding) == ("ok", True)


def test_a_proc_of_another_pid_namespace_is_noticed_by_its_self_link(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/statm").write_text("1 1 1 0 0 1 0\n")
    (tmp_path / "1/mountinfo").write_text(mount("rw").format(proc=tmp_path))
    (tmp_path / "self").symlink_to("1")
    assert os.getpid() != 1
    found = procfs.procfs(Roots(proc=tmp_path))
    assert (found.status, "another pid namespace" in found.finding) == ("limited", True)


def test_no_proc_at_all_leaves_nothing_to_measure(tmp_path: Path) -> None:
    found = procfs.procfs(Roots(proc=tmp_path / "none"))
    assert (found.status, found.needed_for) == ("missing", "all")
    assert "mount -t proc" in found.remedy


@pytest.mark.parametrize(
    ("trial", "remedy"),
    [
        (MarkTrial("switched_off", "switched off"), "unset FOXBENCH_NO_CLEAR_REFS"),
        (MarkTrial("no_effect", "does nothing"), "gVisor"),
        (MarkTrial("no_mark", "no VmHWM"), "gVisor"),
        (MarkTrial("refused", "No such file", errno.ENOENT), "CONFIG_PROC_PAGE_MONITOR"),
        (MarkTrial("refused", "Read-only file system", errno.EROFS), "remount,rw"),
        (MarkTrial("refused", "Permission denied", errno.EACCES), "SELinux"),
    ],
)
def test_each_cause_of_a_mark_that_cannot_be_reset_has_its_own_remedy(
    machine, monkeypatch, trial: MarkTrial, remedy: str
) -> None:
    monkeypatch.setattr(process, "try_mark", lambda spike: trial)
    found = process.high_water_mark(machine(self__clear_refs=""))
    assert (found.status, found.needed_for, found.finding) == ("missing", "exact", trial.problem)
    assert remedy in found.remedy
    assert found.values["cause"] == trial.cause


def test_a_device_in_place_of_clear_refs_was_mounted_over_it(
    machine, tmp_path, monkeypatch
) -> None:
    roots = machine()
    (tmp_path / "proc/self/clear_refs").symlink_to("/dev/null")
    monkeypatch.setattr(process, "try_mark", lambda spike: MarkTrial("no_effect", "nothing"))
    assert "umount" in process.high_water_mark(roots).remedy


def test_without_a_proc_no_check_blames_the_kernel(tmp_path: Path, monkeypatch) -> None:
    def refuse() -> object:
        raise SamplerError(
            "reading: No such file or directory", errno.ENOENT, "use a kernel with X"
        )

    for name in ("io", "status", "error_bound_here"):
        monkeypatch.setattr(lowlevel, name, refuse)
    nothing = Roots(proc=tmp_path / "none", sys=tmp_path / "none")
    for check in (
        process.io_counters,
        process.memory_split,
        exactness.error_bound,
        trees.children_files,
        trees.proportional_set,
    ):
        assert check(nothing).remedy == "see procfs above", check.__name__


@pytest.mark.parametrize(
    ("version", "status", "word"),
    [
        ((7, 0), "ok", "samples are exact"),
        ((6, 16), "ok", "samples are exact"),
        ((6, 15), "limited", "both lag"),
        ((6, 2), "limited", "both lag"),
        ((6, 1), "ok", "63 pages a thread"),
    ],
)
def test_what_the_kernels_version_means(
    machine, monkeypatch, version: tuple[int, int], status: str, word: str
) -> None:
    monkeypatch.setattr(lowlevel, "kernel_version", lambda: version)
    found = exactness.kernel(machine())
    assert (found.status, word in found.finding) == (status, True)


def test_a_machine_with_many_cpus_has_a_rough_mark(machine, monkeypatch) -> None:
    monkeypatch.setattr(lowlevel, "error_bound_here", lambda: 500 << 20)
    found = exactness.error_bound(machine())
    assert (found.status, found.values["err_bytes"]) == ("limited", 500 << 20)
    assert "fewer CPUs" in found.remedy


def test_huge_pages_everywhere_are_warned_of(tmp_path: Path, machine) -> None:
    roots = machine()
    assert "/sys is not mounted" in exactness.huge_pages(roots).finding
    path = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    path.parent.parent.mkdir(parents=True)
    assert "no transparent huge pages" in exactness.huge_pages(roots).finding
    path.parent.mkdir()
    path.write_text("[always] madvise never\n")
    assert exactness.huge_pages(roots).status == "limited"
    path.write_text("always madvise [never]\n")
    assert exactness.huge_pages(roots).status == "ok"


def test_an_old_kernel_cannot_map_library_pages_before(machine, monkeypatch) -> None:
    def refuse(_start: int, _size: int) -> None:
        raise SamplerError("mapping: Invalid argument", errno.EINVAL)

    assert exactness.library_pages(machine()).status == "ok"
    monkeypatch.setattr(lowlevel, "populate_read", refuse)
    found = exactness.library_pages(machine())
    assert (found.status, "5.14" in found.remedy) == ("limited", True)


def test_a_preloaded_allocator_is_named(machine) -> None:
    found = exactness.allocator(machine(self__maps="7f0 r-xp /usr/lib/libjemalloc.so.2\n"))
    assert (found.status, "jemalloc" in found.finding) == ("limited", True)


def test_a_libc_that_is_not_glibc_has_no_quiet_allocator(machine, monkeypatch) -> None:
    monkeypatch.setattr(exactness, "libc", lambda: "unknown")
    found = exactness.allocator(machine())
    assert (found.status, "not glibc" in found.finding) == ("limited", True)


def test_a_clock_without_high_resolution_timers_is_limited(machine, monkeypatch) -> None:
    monkeypatch.setattr(timing.time, "clock_getres", lambda _clock: 0.004)
    found = timing.clock(machine())
    assert (found.status, found.values["resolution_ns"]) == ("limited", 4_000_000)
    assert "CONFIG_HIGH_RES_TIMERS" in found.remedy


def test_the_middle_of_the_lateness_is_not_above_its_99th_percentile(machine) -> None:
    values = timing.clock(machine()).values
    assert 0 <= values["late_p50_ns"] <= values["late_p99_ns"]


@pytest.mark.parametrize(
    ("samples", "missed", "status"), [(100, 0, "ok"), (60, 40, "limited"), (0, 100, "missing")]
)
def test_missed_ticks_are_counted_against_the_machine(
    machine, monkeypatch, samples: int, missed: int, status: str
) -> None:
    stats = SamplerStats(samples, missed, 0, 1_000_000, 4096, None, errno.ENOENT, False)
    monkeypatch.setattr(SamplerThread, "stats", lambda _self: stats)
    assert timing.timer(machine()).status == status


def test_one_usable_cpu_is_shared_with_the_sampler(machine, monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3})
    assert timing.processors(machine()).status == "limited"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3})
    assert timing.processors(machine()).status == "ok"


def test_a_kernel_without_children_files_is_scanned(machine) -> None:
    found = trees.children_files(machine())
    assert (found.status, "CONFIG_PROC_CHILDREN" in found.remedy) == ("limited", True)
    assert trees.children_files(machine(**{"thread-self__children": ""})).status == "ok"


def test_a_kernel_without_pss_says_what_will_be_null(machine) -> None:
    found = trees.proportional_set(machine())
    assert (found.status, "peak_tree_pss_bytes" in found.remedy) == ("missing", True)


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.EPERM, "SYS_PTRACE"), (errno.ENOSYS, "CONFIG_KCMP")]
)
def test_a_forbidden_kcmp_says_what_it_costs(
    machine, monkeypatch, number: int, remedy: str
) -> None:
    def refuse(_a: int, _b: int) -> bool:
        raise SamplerError("comparing", number)

    monkeypatch.setattr(lowlevel, "same_memory", refuse)
    found = trees.compare_memory(machine())
    assert (found.status, "vfork" in found.finding) == ("limited", True)
    assert remedy in found.remedy


def test_a_missing_launcher_is_built_and_one_that_may_not_run_is_allowed(
    machine, tmp_path, monkeypatch
) -> None:
    path = tmp_path / "launcher"
    monkeypatch.setattr(trees, "launcher_path", lambda: str(path))
    assert "pip install" in trees.launcher(machine()).remedy
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o644)
    assert f"chmod +x {path}" in trees.launcher(machine()).remedy
    path.chmod(0o755)
    assert "ended with 3" in trees.launcher(machine()).finding


def test_yama_does_not_hinder_reading_and_another_users_pss_is_not_promised(
    machine, monkeypatch
) -> None:
    roots = machine(sys__kernel__yama__ptrace_scope="3\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = trees.attach(roots)
    assert (found.status, "without PSS" in found.finding) == ("ok", True)
    assert found.values == {"any_user": False, "ptrace_scope": 3}


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("cuda: Optional[str] = '12.6'\n", "12.6"),
        ('__all__ = ["cuda"]\ncuda = "11.8"\n', "11.8"),
        ("cuda: Optional[str] = None\nhip = '6'\n", ""),
        ("hip = '6'\n", None),
    ],
)
def test_the_cuda_build_is_read_from_the_text_of_torch(text: str, cuda: str | None) -> None:
    assert software.cuda_of(text) == cuda


def test_a_package_that_is_not_installed_has_its_extra_named(machine, monkeypatch) -> None:
    monkeypatch.setattr(software, "_version", lambda _name: None)
    assert "foxbench[models]" in software.torch(machine()).remedy
    assert "foxbench[asv]" in software.asv(machine()).remedy


def test_one_broken_device_among_good_ones_is_limited(machine, monkeypatch) -> None:
    info = DeviceInfo(
        **{
            name: {"name": "H100", "uuid": "GPU-1"}.get(name)
            for name in DeviceInfo.__dataclass_fields__
        }
    )
    monkeypatch.setattr(device, "probe", lambda: Probe(True, "", "", "570.1", (info,)))
    assert (device.nvml(machine()).status, device.nvml(machine()).values["n_devices"]) == ("ok", 1)
    partly = Probe(True, "A100: lost", "reset it", "570.1", (info,))
    monkeypatch.setattr(device, "probe", lambda: partly)
    assert (device.nvml(machine()).status, device.nvml(machine()).remedy) == ("limited", "reset it")
    monkeypatch.setattr(device, "probe", lambda: Probe(False, "no driver", "install", None, ()))
    missing = device.nvml(machine())
    assert (missing.status, missing.needed_for, missing.values["n_devices"]) == (
        "missing",
        "none",
        None,
    )


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(None, "unknown"), (761_856, "744 KiB"), (3 << 20, "3.00 MiB"), (3 << 29, "1.50 GiB")],
)
def test_sizes_for_people(n_bytes: int | None, text: str) -> None:
    assert size(n_bytes) == text
