"""The ``steppeak_`` benchmark type: how many bytes one step needs above where it began.

Importing this module teaches asv the type.  A suite of any project uses it in three places::

    # benchmarks/__init__.py
    import foxbench.asv_types

    # asv.conf.json
    "plugins": [".foxbench.site"],
    "regressions_thresholds": {".*steppeak_.*": 0.01},

    # any benchmark
    def steppeak_fit(self): self.model.fit(self.x, self.y)

The threshold is asv's own (its default of 0.05 lists nothing below +5 %): a step peak repeats
within about 0.2 %, so 0.01 is safe.  The page of :mod:`foxbench.site` needs none, it goes by the
noise it sees.

Attributes a benchmark may set, on the method, the class or the module:

``rounds``
    Processes, 3 by default.  Each gives one value and the median is the figure.
``repeat``
    Measured calls in a process, 1 by default; their median is the process's one value.  Repeats
    inside a process are not independent, so they are no samples of their own; they only even out
    what the kernel's counters cannot resolve.  Of asv's ``(min, max, seconds)`` the first counts.
``warmup``
    Calls before the measured one, 1 by default.  0 measures the first step, which also allocates
    gradients and optimizer state.
``hz``
    Rate of the sampler that runs beside the kernel's mark, 1000 by default.
``version``
    As in asv; "1" by default and not a hash of the source, so that an edit of the benchmark does
    not hide its history.  The version of the measurement is appended to it.

This module imports neither torch nor the sampler until a ``steppeak_`` benchmark runs.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from asv_runner.benchmarks import benchmark_types
from asv_runner.benchmarks._base import Benchmark, _get_first_attr

from foxbench.errors import UsageError

if TYPE_CHECKING:
    from foxbench.sampler.result import StepPeak

#: What asv stores as ``number`` beside a figure.  asv keeps nothing else of ours, so the number,
#: meaningless for a type that measures one call, carries how the figure was measured: 1, plus
#: these flags.
NUMBER_PLAIN = 1
NUMBER_SAMPLED_FLAG = 2
NUMBER_LOUD_FLAG = 4


def encode_number(peak: StepPeak) -> int:
    """The ``number`` stored beside ``peak``; :func:`foxbench.history.results` reads it back."""
    number = NUMBER_PLAIN
    if peak.peak.kind == "sampled":
        number |= NUMBER_SAMPLED_FLAG
    if not peak.quiet_allocator:
        number |= NUMBER_LOUD_FLAG
    return number


class SteppeakBenchmark(Benchmark):  # type: ignore[misc]
    """Peak of one call above the memory held before it, in bytes."""

    name_regex = re.compile(r"^(Steppeak[A-Z_].+)|(steppeak_.+)$")

    def __init__(self, name: str, func: Any, attr_sources: list[Any]) -> None:
        super().__init__(name, func, attr_sources)
        from foxbench.sampler.result import MEASUREMENT_VERSION

        self.type = "steppeak"
        self.unit = "bytes"
        self.rounds = int(_get_first_attr(attr_sources, "rounds", 3))
        explicit = _get_first_attr(attr_sources, "version", "1")
        self.version = f"{explicit}-m{MEASUREMENT_VERSION}"
        self.version_alts = ()
        self._load_vars()

    def _load_vars(self) -> None:
        self.warmup = int(_get_first_attr(self._attr_sources, "warmup", 1))
        self.hz = float(_get_first_attr(self._attr_sources, "hz", 1000.0))
        repeat = _get_first_attr(self._attr_sources, "repeat", 1)
        # asv's own default of 0 means "as many as there is time for": here that is one.
        self.repeat = max(1, int(repeat[0] if isinstance(repeat, (tuple, list)) else repeat))
        if self.warmup < 0:
            raise UsageError(
                f"{self.name}: warmup = {self.warmup}", "set warmup to 0 (the first step) or more"
            )

    def do_setup(self) -> bool:
        """Quieten the allocator, then run the suite's setup; True when it asks to be skipped.

        The order matters: blocks that setup frees must go back to the kernel, or the step is
        served from them and its peak reads too low.
        """
        from foxbench.sampler.allocator import quiet_allocator

        quiet_allocator()
        skipped = bool(super().do_setup())
        # Parameters and setup may change the attributes, and `asv run -a` inserts its own.
        self._load_vars()
        return skipped

    def run(self, *params: Any) -> dict[str, Any]:
        """Warm up, measure, and return the process's value the way asv takes samples."""
        from foxbench.sampler.libraries import populate_libraries
        from foxbench.sampler.step import step_peak

        for _ in range(self.warmup):
            self.func(*params)
        if populate_libraries() is None:
            _warn(f"{self.name}: library pages count as they are first used (before Linux 5.14)")
        peaks = [step_peak(lambda: self.func(*params), hz=self.hz) for _ in range(self.repeat)]
        # The lower of two middle ones: a value that was measured, not the mean of two.
        peak = sorted(peaks, key=lambda p: p.step_peak_bytes)[(self.repeat - 1) // 2]
        if peak.peak.kind == "sampled":
            _warn(
                f"{self.name}: sampled peak, a lower bound: the kernel's high-water mark could "
                "not be reset (/proc/self/clear_refs)"
            )
        if not peak.quiet_allocator:
            _warn(f"{self.name}: the quiet allocator is not on; expect a spread of some 15 %")
        return {"samples": [peak.step_peak_bytes], "number": encode_number(peak)}


def _warn(message: str) -> None:
    # Kept by asv with the benchmark's output and shown with --show-stderr.
    print(f"foxbench: {message}", file=sys.stderr)


def register() -> None:
    """Append the type to asv's list, once however often the module is imported or reloaded."""
    if not any(t.__qualname__ == SteppeakBenchmark.__qualname__ for t in benchmark_types):
        benchmark_types.append(SteppeakBenchmark)


register()
