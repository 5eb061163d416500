"""The instrument itself: what a reading, a tick, an interval and a launch cost.

A commit without the part that is measured is skipped, not failed.
"""

import json
import statistics
import subprocess
import time

from foxbench.suite import settings


class Readings:
    """One call from Python, the way through cffi included."""

    def setup(self) -> None:
        """Open what a first call opens."""
        from foxbench.sampler import lowlevel

        self.lowlevel = lowlevel
        self.time_rss()

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


class Thread:
    """The sampling thread beside a process that sleeps."""

    params = (100, 1000, 10000)
    param_names = ("hz",)
    SECONDS = 1.0

    def setup(self, hz: int) -> None:
        """Sample for a second."""
        from foxbench.sampler.handles import SamplerThread

        thread = SamplerThread(float(hz), 4096)
        thread.start()
        time.sleep(self.SECONDS)
        thread.stop()
        self.stats = thread.stats()
        thread.close()

    @settings(version="1", rounds=3, unit="ns")
    def track_cpu_a_tick(self, hz: int) -> float:
        """CPU time of a tick, nearly all of it the wake-up."""
        if self.stats.cpu_ns is None or not self.stats.n_samples:
            return float("nan")
        return self.stats.cpu_ns / self.stats.n_samples

    @settings(version="1", rounds=1, unit="bytes")
    def track_self(self, hz: int) -> int:
        """Memory of the sampler, its stack and timeline included."""
        return self.stats.self_bytes


class Timeline:
    """Samples fed to the bounded timeline."""

    def setup(self) -> None:
        """A timeline of the usual size, full and so merging."""
        from foxbench.sampler.handles import TimelineBuffer

        self.timeline = TimelineBuffer(4096)
        self.now_ns = 0

    @settings(version="1", rounds=1)
    def time_thousand_samples(self) -> None:
        """A thousand calls from Python."""
        for _ in range(1000):
            self.now_ns += 1
            self.timeline.add(self.now_ns, self.now_ns)


class Launcher:
    """``foxbench-run`` around a command that does nothing."""

    def setup(self) -> None:
        """Find it; commits from before it are skipped."""
        try:
            from foxbench.sampler.launcher import launcher_path
        except ImportError:
            raise NotImplementedError("no launcher in this commit") from None
        self.path = launcher_path()

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
