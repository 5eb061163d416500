"""The step peak: what one call needs above what was there before it."""

from __future__ import annotations

from collections.abc import Callable

from foxbench.sampler import assemble, lowlevel
from foxbench.sampler.allocator import is_quiet, settle
from foxbench.sampler.handles import SamplerThread
from foxbench.sampler.provenance import clear_refs_allowed
from foxbench.sampler.result import StepPeak

#: The timeline of a step is not kept, so the smallest will do.
_CAPACITY = 64


def step_peak(fn: Callable[[], object], *, hz: float = 1000.0) -> StepPeak:
    """Call ``fn`` once and return its peak above the settled memory before it.

    Parameters
    ----------
    fn : callable
        One training step.  Warm it up before: the first step also allocates gradients and
        optimizer state.  What it returns is dropped at once.
    hz : float
        Rate of the sampler beside the kernel's mark, 100 to 10,000.

    Returns
    -------
    StepPeak
        Kind ``hwm``, or ``sampled`` (a lower bound) where the mark cannot be reset.

    Raises
    ------
    SamplerError
        The rate is out of range, or /proc cannot be read.
    Exception
        What ``fn`` raises: a step that failed has no figure.
    """
    sampler = SamplerThread(hz, _CAPACITY)
    try:
        sampler.start()
        settle()
        interval = lowlevel.interval_begin(clear_refs_allowed())
        try:
            fn()
        finally:
            # The mark is read before settle(), whose own work is no part of the step.
            raw = lowlevel.interval_end(interval)
        sampler.stop()
        settle()
        rss_after = lowlevel.rss_bytes()
    finally:
        sampler.close()
    peak = assemble.peak(raw, lowlevel.error_bound_here())
    return StepPeak(
        step_peak_bytes=max(0, peak.bytes - raw.rss_begin_bytes),
        rss_before_bytes=raw.rss_begin_bytes,
        rss_after_bytes=rss_after,
        peak=peak,
        quiet_allocator=is_quiet(),
    )
