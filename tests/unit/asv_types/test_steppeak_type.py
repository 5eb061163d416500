"""The steppeak_ type as asv's runner sees it; the real sampler measures real memory."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest
from asv_runner.benchmarks import benchmark_types

import foxbench.asv_types as asv_types
from foxbench.asv_types import SteppeakBenchmark
from foxbench.errors import UsageError
from foxbench.sampler.result import MEASUREMENT_VERSION, Peak, StepPeak

MIB = 1 << 20


class Suite:
    def __init__(self):
        self.calls = []
        self.kept = []

    def steppeak_touch(self, mib=16):
        self.calls.append(mib)
        if len(self.calls) == 1:
            self.kept.append(b"\1" * (8 * MIB))
        return len(b"\1" * (mib * MIB))


def benchmark_of(suite, **attributes):
    func = suite.steppeak_touch
    source = type("Attributes", (), attributes)
    return SteppeakBenchmark("m.Suite.steppeak_touch", func, [source, func, suite])


def measure(benchmark):
    assert benchmark.do_setup() is False
    return benchmark.do_run()


def test_importing_twice_registers_once():
    importlib.reload(asv_types)
    named = [t for t in benchmark_types if t.__qualname__ == "SteppeakBenchmark"]
    assert len(named) == 1


@pytest.mark.parametrize("name", ["steppeak_step", "SteppeakStep", "Steppeak_x"])
def test_the_name_makes_the_type(name):
    found = next(t for t in benchmark_types if t.name_regex.match(name))
    assert found.__qualname__ == "SteppeakBenchmark"


@pytest.mark.parametrize("name", ["my_steppeak_step", "steppeak", "peakmem_step", "Steppeaks"])
def test_other_names_are_not_ours(name):
    assert not SteppeakBenchmark.name_regex.match(name)


def test_a_run_gives_one_sample_of_the_step_alone():
    suite = Suite()
    result = measure(benchmark_of(suite))
    assert len(suite.calls) == 2  # one warm-up, one measured
    (value,) = result["samples"]
    assert type(value) is int
    assert abs(value - 16 * MIB) < MIB


def test_without_warm_up_the_first_step_keeps_count_of_what_stays():
    (value,) = measure(benchmark_of(Suite(), warmup=0))["samples"]
    assert abs(value - 24 * MIB) < MIB


def test_attributes_inserted_after_construction_are_read_in_setup():
    suite = Suite()
    benchmark = benchmark_of(suite)
    benchmark._attr_sources.insert(0, type("Extra", (), {"warmup": 3, "repeat": 1, "number": 1}))
    measure(benchmark)
    assert len(suite.calls) == 4


def test_what_asv_stores_about_it():
    benchmark = benchmark_of(Suite())
    assert (benchmark.type, benchmark.unit, benchmark.rounds) == ("steppeak", "bytes", 3)
    assert benchmark.version == f"1-m{MEASUREMENT_VERSION}"
    assert benchmark_of(Suite(), version="7", rounds=5).version == f"7-m{MEASUREMENT_VERSION}"


def test_a_negative_warm_up_is_refused_with_the_name():
    with pytest.raises(UsageError, match=r"m\.Suite\.steppeak_touch: warmup = -1"):
        benchmark_of(Suite(), warmup=-1)


def test_a_setup_that_is_not_implemented_skips():
    class Skipping(Suite):
        def setup(self):
            raise NotImplementedError("no such device")

    assert benchmark_of(Skipping()).do_setup() is True


def test_a_step_that_fails_has_no_figure():
    class Failing(Suite):
        def steppeak_touch(self):
            raise ValueError("shape")

    with pytest.raises(ValueError, match="shape"):
        measure(benchmark_of(Failing()))


def test_the_allocator_is_quiet_before_setup_runs(tmp_path):
    script = tmp_path / "script.py"  # asv reads the source of what it measures
    script.write_text(
        """
from foxbench.asv_types import SteppeakBenchmark
from foxbench.sampler.allocator import is_quiet


class Suite:
    def setup(self):
        print("in setup", is_quiet())

    def steppeak_x(self):
        pass


print("before", is_quiet())
suite = Suite()
SteppeakBenchmark("m.x", suite.steppeak_x, [suite]).do_setup()
"""
    )
    assert run_python(str(script)) == "before False\nin setup True\n"


@pytest.mark.parametrize(
    ("kind", "quiet", "number"),
    [("hwm", True, 1), ("sampled", True, 3), ("hwm", False, 5), ("sampled", False, 7)],
)
def test_how_it_was_measured_travels_in_the_number(kind, quiet, number):
    peak = Peak(5, None if kind == "sampled" else 0, kind, None, 5)
    assert asv_types.encode_number(StepPeak(5, 0, 0, peak, quiet)) == number


@pytest.mark.parametrize(
    "imports",
    ["foxbench.asv_types", "foxbench.suite", "foxbench.site, foxbench.history.changes"],
)
def test_importing_it_brings_neither_torch_nor_the_sampler(imports):
    code = f"""
import sys, {imports}
print([
    m for m in sys.modules
    if m.split(".")[0] in ("torch", "ruptures", "scipy") or m.startswith("foxbench.sampler")
])
"""
    assert run_python("-c", code) == "[]\n"


def run_python(*words):
    # Without the variables that would make the child quiet from its start.
    env = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_repeats_in_a_process_give_one_value_their_median():
    class Growing:
        def __init__(self):
            self.mib = iter((1, 4, 32, 8, 16))  # one warm-up, then four measured calls

        def steppeak_touch(self):
            return len(b"\1" * (next(self.mib) * MIB))

    suite = Growing()
    func = suite.steppeak_touch
    source = type("Attributes", (), {"warmup": 1, "repeat": 4})
    result = measure(SteppeakBenchmark("m.Growing.steppeak_touch", func, [source, func, suite]))
    (value,) = result["samples"]
    assert abs(value - 8 * MIB) < MIB


@pytest.mark.parametrize(("repeat", "calls"), [(0, 1), (1, 1), ((2, 10, 5.0), 2)])
def test_asvs_ways_to_write_repeat_are_understood(repeat, calls):
    suite = Suite()
    measure(benchmark_of(suite, warmup=0, repeat=repeat))
    assert len(suite.calls) == calls
