"""The sampler in real processes: forks, exits, environments, a held GIL, closed /proc files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MIB = 1 << 20

PRELUDE = """
import gc, json, mmap, os, sys, threading, time
import foxbench
from foxbench.sampler import allocator, lowlevel, provenance
MIB = 1 << 20
def hold(n):
    m = mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m[::4096] = b"x" * (n // 4096)
    return m
def report(**values):
    print(json.dumps(values), flush=True)
"""


def run(body: str, *, prelude: str = PRELUDE, **env: str) -> Any:
    """Run a script in a fresh interpreter and return what it reported."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "FOXBENCH_"))}
    done = subprocess.run(
        [sys.executable, "-c", prelude + body],
        env={**clean, "PYTHONPATH": str(ROOT), **env},
        cwd=os.sep,  # -c puts the current directory before PYTHONPATH
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_foxbench_loads_neither_numpy_nor_the_extension() -> None:
    seen = run(
        """
import json, sys
import foxbench, foxbench.errors, foxbench.sampler
heavy = [m for m in sys.modules if m == "numpy" or m == "cffi" or "_foxsampler" in m]
print(json.dumps({"heavy": heavy, "names": dir(foxbench)}))
""",
        prelude="",
    )
    assert seen["heavy"] == []
    assert {"measure", "step_peak", "__version__"} <= set(seen["names"])


def test_a_checkout_that_was_never_built_says_how_to_build_it(tmp_path: Path) -> None:
    for source in (ROOT / "foxbench").rglob("*.py"):
        target = tmp_path / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text())
    seen = run(
        """
import json
import foxbench
from foxbench.errors import EnvironmentFault
try:
    with foxbench.measure():
        pass
except EnvironmentFault as fault:
    print(json.dumps({"file": foxbench.__file__, "what": fault.what, "remedy": fault.remedy}))
""",
        prelude="",
        PYTHONPATH=str(tmp_path),
    )
    # The path given wins over an editable install, else another commit would be measured.
    assert seen["file"].startswith(str(tmp_path))
    assert "cannot be loaded" in seen["what"]
    assert "pip install -e ." in seen["remedy"]


def test_the_thread_samples_while_the_gil_is_held() -> None:
    """A call through ctypes.PyDLL keeps the GIL: a Python sampler would get one sample."""
    seen = run(
        """
import ctypes
sleep = ctypes.PyDLL(None).usleep
with foxbench.measure(hz=1000) as m:
    with m.phase("held"):
        sleep(300_000)
t, held = m.result.timeline, m.result.intervals[0]
inside = (t.first_ns >= held.begin_ns) & (t.first_ns <= held.end_ns)
report(inside=int(t.count[inside].sum()), missed=m.result.n_missed)
"""
    )
    assert seen["inside"] + seen["missed"] >= 250
    assert seen["inside"] >= 150


def test_a_block_that_forks_is_measured_in_the_parent_and_refused_in_the_child() -> None:
    seen = run(
        """
from foxbench.errors import NotMeasured, UsageError
read, write = os.pipe()
m = foxbench.measure()
child = None
with m:
    with m.phase("before"):
        hold(48 * MIB).close()
    with m.phase("fork"):
        child = os.fork()
    if child:
        os.waitpid(child, 0)
if child == 0:
    try:
        m.result
    except NotMeasured as refused:
        said = refused.what
    # and a new measurement works in the child
    with foxbench.measure() as own:
        held = hold(16 * MIB)
        time.sleep(0.05)
        held.close()
    os.write(write, json.dumps({
        "said": said,
        "own": own.result.whole.step_peak_bytes,
        "samples": own.result.n_samples,
    }).encode())
    os._exit(0)
report(child=json.loads(os.read(read, 4096)),
       parent=m.result.whole.step_peak_bytes,
       phases=[i.name for i in m.result.intervals])
"""
    )
    assert "forked" in seen["child"]["said"]
    assert 15 * MIB <= seen["child"]["own"] <= 17 * MIB
    assert seen["child"]["samples"] > 5
    assert 47 * MIB <= seen["parent"] <= 49 * MIB
    assert seen["phases"] == ["before", "fork"]


def test_forking_a_hundred_times_while_sampling_never_hangs() -> None:
    seen = run(
        """
codes = []
with foxbench.measure(hz=10_000) as m:
    for _ in range(100):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if lowlevel.rss_bytes() > 0 else 1)
        codes.append(os.waitpid(pid, 0)[1])
report(codes=codes, warnings=[w for w in m.result.warnings if "failed" in w])
"""
    )
    assert seen["codes"] == [0] * 100
    assert seen["warnings"] == []


@pytest.mark.parametrize("how", ["", "sys.exit(0)", "os._exit(0)"])
def test_the_interpreter_may_exit_while_sampling(how: str) -> None:
    run(
        f"""
m = foxbench.measure(hz=10_000)
m.__enter__()
hold(8 * MIB)
time.sleep(0.02)
report(ok=True)
{how}
"""
    )


def test_the_quiet_allocator_is_known_by_call_and_by_environment() -> None:
    script = """
before = allocator.is_quiet()
report(before=before, called=allocator.quiet_allocator(), after=allocator.is_quiet(),
       stored=provenance.capabilities().quiet_allocator,
       step=foxbench.step_peak(lambda: None).quiet_allocator, env=allocator.QUIET_ENV)
"""
    plain = run(script)
    if not plain["called"]:
        pytest.skip("the libc is not glibc: it has no quiet allocator")
    assert (plain["before"], plain["after"], plain["stored"], plain["step"]) == (False, *[True] * 3)
    assert run(script, **plain["env"])["before"]
    # glibc reads its variables at the start: setting them later changes nothing.
    late = run("os.environ.update(allocator.QUIET_ENV)\nreport(q=allocator.is_quiet())")
    assert not late["q"]


def test_the_quiet_allocator_gives_freed_blocks_back_at_once() -> None:
    """100 KB blocks: on glibc's defaults they stay in the heap below the last live one."""
    script = """
%s
size = 100_000
blocks = [bytearray(size) for _ in range(400)]
full = lowlevel.rss_bytes()
last = blocks[-1]
del blocks
report(given_back=full - lowlevel.rss_bytes())
"""
    quiet = run(script % "on = allocator.quiet_allocator()")["given_back"]
    default = run(script % "")["given_back"]
    assert quiet >= 35 * MIB
    assert default < 5 * MIB


def test_settle_gives_free_heap_back() -> None:
    seen = run(
        """
blocks = [bytearray(50_000) for _ in range(600)]
last = blocks[-1]
del blocks
before = lowlevel.rss_bytes()
allocator.settle()
report(given_back=before - lowlevel.rss_bytes())
"""
    )
    assert seen["given_back"] >= 20 * MIB


def test_closing_every_descriptor_under_the_sampler_does_not_stop_it() -> None:
    seen = run(
        """
with foxbench.measure(hz=1000) as m:
    time.sleep(0.02)
    os.closerange(3, 256)
    files = [open("/dev/null", "r+") for _ in range(8)]  # gets the sampler's old numbers
    held = hold(16 * MIB)
    time.sleep(0.05)
    held.close()
    for file in files:
        file.close()  # still ours: nobody closed them behind our back
whole = m.result.whole
report(peak=whole.step_peak_bytes, samples=m.result.n_samples, kind=whole.peak.kind)
"""
    )
    assert seen["kind"] == "hwm"
    assert 15 * MIB <= seen["peak"] <= 17 * MIB
    assert seen["samples"] > 20


def test_where_clear_refs_is_refused_the_peak_is_sampled_and_the_warning_says_why() -> None:
    """PR_SET_DUMPABLE 0 gives /proc/self to root: another user may no longer write clear_refs."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    seen = run(
        """
import ctypes
lowlevel.rss_bytes()
os.setgid(65534); os.setuid(65534)
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
with foxbench.measure(hz=1000) as m:
    held = hold(32 * MIB)
    time.sleep(0.05)
    held.close()
w, c = m.result.whole, provenance.capabilities()
report(kind=w.peak.kind, mark=w.peak.hwm_bytes, err=w.peak.err_bytes, peak=w.step_peak_bytes,
       warning=m.result.warnings[0], able=c.hwm_reset, problem=c.hwm_reset_problem)
"""
    )
    assert (seen["kind"], seen["mark"], seen["err"]) == ("sampled", None, None)
    assert 32 * MIB <= seen["peak"] <= 33 * MIB
    assert "Permission denied" in seen["warning"]
    assert not seen["able"]
    assert "Permission denied" in seen["problem"]


def test_starting_and_stopping_two_thousand_times_leaks_nothing() -> None:
    seen = run(
        """
def once():
    with foxbench.measure(hz=1000) as m:
        with m.phase("p"):
            pass
    return m.result
for _ in range(100): once()
gc.collect()
rss, fds = lowlevel.rss_bytes(), len(os.listdir("/proc/self/fd"))
threads = lowlevel.status().threads
for _ in range(2000): once()
gc.collect()
report(grown=lowlevel.rss_bytes() - rss, fds=len(os.listdir("/proc/self/fd")) - fds,
       threads=lowlevel.status().threads - threads)
"""
    )
    assert seen["fds"] == 0
    assert seen["threads"] == 0
    assert seen["grown"] < 2 * MIB
