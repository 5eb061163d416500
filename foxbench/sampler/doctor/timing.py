"""Checks of the clock, of wake-ups and of the processors that sampling shares with the work."""

from __future__ import annotations

import os
import time

from foxbench.errors import FoxbenchError
from foxbench.sampler.doctor.check import Check, Roots, Values, has_proc
from foxbench.sampler.handles import SamplerThread

_TRIAL_S = 0.1
_TICK_NS = 1_000_000

#: Without high-resolution timers a wake-up waits for the next jiffy, 1 to 10 ms.
_COARSE_CLOCK_NS = 1_000


def clock(_roots: Roots) -> Check:
    """Resolution of CLOCK_MONOTONIC, and how late a wake-up comes: a trial of 100 ticks.

    The lateness is of this Python process on this machine as busy as it is now: information, of
    which the sampler's own missed ticks (``timer``) are the consequence.
    """
    resolution_ns = round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9)
    late = []
    deadline_ns = time.monotonic_ns()
    for _ in range(100):
        deadline_ns += _TICK_NS
        time.sleep(max(0, deadline_ns - time.monotonic_ns()) / 1e9)
        late.append(max(0, time.monotonic_ns() - deadline_ns))
    late.sort()
    p50_ns, p99_ns = late[49], late[98]
    values: Values = {
        "resolution_ns": resolution_ns,
        "late_p50_ns": p50_ns,
        "late_p99_ns": p99_ns,
    }
    finding = (
        f"resolution {resolution_ns} ns; a wake-up is {p50_ns / 1000:.0f} us late in the middle, "
        f"{p99_ns / 1000:.0f} us at the 99th percentile"
    )
    if resolution_ns > _COARSE_CLOCK_NS:
        remedy = "use a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS, no highres=off)"
        return Check("clock", "limited", finding, remedy, values=values)
    return Check("clock", "ok", finding, values=values)


def timer(roots: Roots) -> Check:
    """A tenth of a second of sampling at 1 kHz, and how many ticks it missed."""
    try:
        thread = SamplerThread(1000.0, 256)
        try:
            thread.start()
            time.sleep(_TRIAL_S)
            thread.stop()
            stats = thread.stats()
        finally:
            thread.close()
    except FoxbenchError as error:
        remedy = error.remedy if has_proc(roots) else "see procfs above"
        return Check("timer", "missing", error.what, remedy)
    if not stats.n_samples:
        finding = f"not one sample could be taken: {os.strerror(stats.first_errno)}"
        return Check("timer", "missing", finding, "see statm above")
    ticks = stats.n_samples + stats.n_missed
    values: Values = {
        "n_samples": stats.n_samples,
        "n_missed": stats.n_missed,
        "cpu_ns_a_tick": stats.cpu_ns // ticks if stats.cpu_ns is not None else None,
        "self_bytes": stats.self_bytes,
    }
    finding = f"{stats.n_missed} of {ticks} ticks at 1 kHz missed"
    if stats.n_missed > ticks // 10:
        remedy = "the machine is busy: leave the sampler a core, or use a lower --hz"
        return Check("timer", "limited", finding, remedy, values=values)
    return Check("timer", "ok", finding, values=values)


def processors(_roots: Roots) -> Check:
    """How many CPUs this process may use: on one, the sampler takes turns with the work."""
    online, usable = os.sysconf("SC_NPROCESSORS_ONLN"), len(os.sched_getaffinity(0))
    values: Values = {"n_cpus": online, "n_usable_cpus": usable}
    finding = f"{usable} of {online} may be used"
    if usable == 1:
        finding += ": the sampler takes turns with what it measures"
        remedy = "allow two (taskset, docker --cpuset-cpus), or sample at 100 Hz"
        return Check("processors", "limited", finding, remedy, values=values)
    return Check("processors", "ok", finding, values=values)
