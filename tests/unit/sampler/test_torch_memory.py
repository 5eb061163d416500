"""torch's own device counters, nested.  torch is built for the CPU where these tests run, so a
stand-in plays its one resettable mark a device; the arithmetic around it is what is tested.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

import foxbench
from foxbench.sampler.device import torch_memory


class Cuda:
    """The part of ``torch.cuda`` that is used, with one device."""

    def __init__(self) -> None:
        self.held = self.mark = 0

    def use(self, n_bytes: int) -> None:
        self.held += n_bytes
        self.mark = max(self.mark, self.held)

    def is_available(self) -> bool:
        raise AssertionError("this would start the driver, and no fork could use CUDA any more")

    def is_initialized(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def memory_stats_as_nested_dict(self, _index: int) -> dict[str, dict[str, dict[str, int]]]:
        return {
            "allocated_bytes": {"all": {"current": self.held, "peak": self.mark}},
            "reserved_bytes": {"all": {"current": self.held, "peak": self.mark + 1000}},
        }

    def reset_peak_memory_stats(self, _index: int) -> None:
        self.mark = self.held


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    made = Cuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=made))
    return made


def test_an_inner_reset_keeps_the_outer_peak(cuda: Cuda) -> None:
    outer = torch_memory.begin()
    cuda.use(500)
    cuda.use(-400)
    inner = torch_memory.begin()
    cuda.use(200)
    cuda.use(-200)
    (inside,) = torch_memory.end(inner) or ()
    (around,) = torch_memory.end(outer) or ()
    assert (inside.allocated_begin_bytes, inside.peak_allocated_bytes) == (100, 300)
    assert (around.allocated_begin_bytes, around.peak_allocated_bytes) == (0, 500)
    assert (inside.peak_reserved_bytes, around.peak_reserved_bytes) == (1300, 1500)
    assert around.allocated_end_bytes == 100


def test_phases_carry_their_own_figures(cuda: Cuda) -> None:
    with foxbench.measure(device=False) as m:
        with m.phase("load"):
            cuda.use(700)
        with m.phase("step"):
            cuda.use(50)
    load, step = (phase.torch for phase in m.result.intervals)
    assert load is not None
    assert step is not None
    assert (load[0].peak_allocated_bytes, step[0].peak_allocated_bytes) == (700, 750)
    assert step[0].allocated_begin_bytes == 700
    assert m.result.whole.torch is not None
    assert m.result.whole.torch[0].peak_allocated_bytes == 750


def test_a_torch_without_cuda_tells_nothing_and_is_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with foxbench.measure() as m:
        pass
    assert m.result.whole.torch is None
    assert "torch" not in sys.modules


def test_an_allocator_without_marks_breaks_no_measurement(
    cuda: Cuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_index: int) -> None:
        raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats")

    monkeypatch.setattr(cuda, "memory_stats_as_nested_dict", refuse)
    with foxbench.measure(device=False) as m, m.phase("step"):
        pass
    assert m.result.whole.torch is None
    assert m.result.intervals[0].torch is None


def test_cuda_that_begins_inside_a_block_has_no_figure_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with foxbench.measure(device=False) as m:
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=Cuda()))
        with m.phase("step"):
            pass
    assert m.result.whole.torch is None
    assert m.result.intervals[0].torch is not None


def test_a_block_that_could_not_begin_leaves_no_interval_open(
    cuda: Cuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_reset: bool) -> int:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr("foxbench.sampler.lowlevel.interval_begin", fail)
        with pytest.raises(MemoryError), foxbench.measure(device=False):
            pass
        assert torch_memory._open == []
    with foxbench.measure(device=False) as m:
        cuda.use(10)
    assert m.result.whole.torch is not None


def test_a_forked_child_begins_with_no_interval_of_its_parent(cuda: Cuda) -> None:
    outer = torch_memory.begin()
    pid = os.fork()
    if pid == 0:
        own = torch_memory.begin()
        right = torch_memory.end(outer) is None and torch_memory.end(own) is not None
        os._exit(0 if right else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert torch_memory.end(outer) is not None


@pytest.mark.parametrize(("hip", "expected"), [(None, True), ("6.2", False)])
def test_amd_devices_are_not_asked_through_nvml(
    cuda: Cuda, monkeypatch: pytest.MonkeyPatch, hip: str | None, expected: bool
) -> None:
    version = SimpleNamespace(hip=hip)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, version=version))
    assert torch_memory.nvidia_in_use() is expected
