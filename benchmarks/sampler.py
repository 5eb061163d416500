"""The instrument itself: what a reading, a tick, an interval and a launch cost.

A commit without the part that is measured is skipped, not failed.
"""

import contextlib
import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator

from foxbench.suite import settings


@contextlib.contextmanager
def part_of_this_commit() -> Iterator[None]:
    """Have asv skip what an older commit does not have."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise NotImplementedError(str(error)) from None


class Readings:
    """One call from Python, the way through cffi included."""

    # CPU time: on a shared machine the wall clock also measures the others.
    timer = time.process_time

    def setup(self) -> None:
        """Open what a first call opens."""
        with part_of_this_commit():
            from foxbench.sampler import lowlevel
        self.lowlevel = lowlevel
        lowlevel.interval_end(lowlevel.interval_begin())

    @settings(version="1", rounds=2)
    def time_rss(self) -> None:
        """The resident set: a pread of statm."""
        self.lowlevel.rss_bytes()

    @settings(version="1", rounds=2)
    def time_status(self) -> None:
        """The high-water mark and the parts of the resident set."""
        self.lowlevel.status()

    @settings(version="1", rounds=2)
    def time_hwm_reset(self) -> None:
        """Save the mark and reset it."""
        self.lowlevel.hwm_reset()

    @settings(version="1", rounds=2)
    def time_interval(self) -> None:
        """Begin an interval and end it."""
        self.lowlevel.interval_end(self.lowlevel.interval_begin())


class Measure:
    """A whole ``measure`` block around nothing: CPU time of both threads."""

    timer = time.process_time

    def setup(self) -> None:
        """Do it once, so that nothing is imported later."""
        import foxbench

        self.measure = foxbench.measure
        self.time_block()

    @settings(version="1", rounds=2)
    def time_block(self) -> None:
        """Make the thread and its memory, start it, stop it, read everything."""
        with self.measure(hz=1000):
            pass


class Thread:
    """The sampling thread beside a process that sleeps."""

    params = (100, 1000, 10000)
    param_names = ("hz",)
    SECONDS = 1.0

    def setup(self, hz: int) -> None:
        """Allocate what it needs."""
        with part_of_this_commit():
            from foxbench.sampler.handles import SamplerThread
        self.thread = SamplerThread(float(hz), 4096)

    def teardown(self, hz: int) -> None:
        """Give it back."""
        self.thread.close()

    @settings(version="1", rounds=3, unit="ns")
    def track_cpu_a_tick(self, hz: int) -> float:
        """CPU time of a tick, nearly all of it the wake-up; NaN where it was not measured."""
        self.thread.start()
        time.sleep(self.SECONDS)
        self.thread.stop()
        stats = self.thread.stats()
        return float("nan") if stats.cpu_ns is None else stats.cpu_ns / stats.n_samples


class Memory:
    """What the instrument itself holds; exact, so one process is enough."""

    def setup(self) -> None:
        """Find the sampler."""
        with part_of_this_commit():
            from foxbench.sampler.handles import SamplerThread
        self.sampler_thread = SamplerThread

    @settings(version="1", rounds=1, unit="bytes")
    def track_sampler(self) -> int:
        """Stack, timeline and the rest of a sampler of the usual size, all of it touched."""
        thread = self.sampler_thread(1000.0, 4096)
        held: int = thread.stats().self_bytes
        thread.close()
        return held


class Timeline:
    """Samples fed to the bounded timeline."""

    timer = time.process_time

    def setup(self) -> None:
        """A timeline of the usual size, full and so merging."""
        with part_of_this_commit():
            from foxbench.sampler.handles import TimelineBuffer
        self.timeline = TimelineBuffer(4096)
        self.now_ns = 0
        for _ in range(9):
            self.time_thousand_samples()

    @settings(version="1", rounds=2)
    def time_thousand_samples(self) -> None:
        """A thousand calls from Python."""
        for _ in range(1000):
            self.now_ns += 1_000_000
            self.timeline.add(self.now_ns, self.now_ns)


class Launcher:
    """``foxbench-run`` around a command that does next to nothing."""

    def setup(self) -> None:
        """Find it; commits from before it, and installations without it, are skipped."""
        with part_of_this_commit():
            from foxbench.sampler.launcher import launcher_path
        self.path = launcher_path()
        if not os.access(self.path, os.X_OK):
            raise NotImplementedError(f"no launcher in this installation: {self.path}")

    def run(self, *command: str) -> dict[str, int]:
        """The figures of one run."""
        call = [self.path, "--quiet", "--json", "-", "--", *command]
        done = subprocess.run(call, capture_output=True, check=True)
        read: dict[str, int] = json.loads(done.stdout)
        return read

    @settings(version="1", rounds=3, unit="ns")
    def track_start_to_end(self) -> float:
        """From the call to the end of ``true``, median of 30."""
        spans = []
        for _ in range(30):
            begin = time.perf_counter_ns()
            self.run("true")
            spans.append(time.perf_counter_ns() - begin)
        return statistics.median(spans)

    @settings(version="1", rounds=3, unit="bytes")
    def track_self(self) -> int:
        """Resident set of the launcher."""
        return self.run("sleep", "0.1")["self_bytes"]

    @settings(version="1", rounds=3, unit="ns")
    def track_cpu_a_sample(self) -> float:
        """Its CPU time a sample at 1 kHz over one process."""
        found = self.run("sleep", "1")
        return found["sampler_cpu_ns"] / found["n_samples"]
