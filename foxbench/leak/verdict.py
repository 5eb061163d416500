"""From the trends of all gauges to one verdict.

============== =================================================================================
leak           the heap, Python's blocks or the device's memory rises by the rule
clean          none of them does, nor the resident set
fragmentation  the resident set rises and the heap stands: malloc keeps what was freed
suspect        the resident set rises and nothing tells why: a hint, no proof
not_measured   too few readings
============== =================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.leak import rule
from foxbench.leak.readings import GAUGES, Followed, Readings
from foxbench.leak.rule import BLOCKS, MIN_READINGS, WARM_UP, Trend
from foxbench.leak.statistics import confidence

VERDICTS = ("leak", "clean", "fragmentation", "suspect", "not_measured")

#: Least rise that counts.  Clean loops of the four models surely rise by 253 bytes a step at most,
#: those of 60 steps; the longer the fewer, see docs/leak.md.
BYTES_PER_STEP = 512
BLOCKS_PER_STEP = 8

#: The resident set of a clean loop rises too, by up to 36 KB a step over some hundred steps, though
#: seldom in every quarter.  Beside a heap that is known to stand a page a step is told; alone it
#: must be sixteen.
RSS_BESIDE_BYTES_PER_STEP = 4 * 1024
RSS_ALONE_BYTES_PER_STEP = 64 * 1024

#: Of Python's own allocator, on 64 bits: what a block takes at the least.
BLOCK_BYTES = 16

#: A command's resident set must surely rise by so much behind the warm-up: as much as the least
#: number of steps at ``RSS_ALONE_BYTES_PER_STEP``.
COMMAND_RISE_BYTES = MIN_READINGS * RSS_ALONE_BYTES_PER_STEP

#: A shorter command has not shown what it does once it has started.
MIN_COMMAND_S = 6.0

_WORDS = {
    "heap_bytes": "the heap in use",
    "device_bytes": "the device's memory in use",
    "blocks": "the number of Python's blocks in use",
}

_DAY_NS = 86_400 * 10**9


@dataclass(frozen=True)
class GaugeTrend:
    """What the rule found in one gauge.

    Attributes
    ----------
    gauge : str
        ``heap_bytes``, ``device_bytes``, ``blocks`` or ``rss_bytes``.
    unit : str
        ``bytes`` or ``blocks``.
    per : str
        What the slope is per: ``step`` or ``s``.
    last : int
        The last reading.
    trend : Trend
    """

    gauge: str
    unit: str
    per: str
    last: int
    trend: Trend


@dataclass(frozen=True)
class LeakVerdict:
    """Whether it leaks, and how fast.

    Attributes
    ----------
    verdict : str
        One of ``VERDICTS``.
    reason : str
        A sentence.
    gauge : str or None
        The one that decided.
    bytes_per_step, bytes_per_step_lower : int or None
        The rise, and what it surely exceeds (99 %); None for a command, which has no steps, and
        for what does not rise.
    at_least : bool
        Whether the rise is a lower bound: of a block only its least size is known.
    bytes_per_day : int or None
    confidence : float or None
        That the deciding gauge rises at all, were its block minima independent.
    budget_bytes : int or None
    seconds_to_budget : float or None
        From the last reading on at this rate; 0 when it is over already.
    n_readings : int
        Steps, or samples of a command.
    step_wall_ns : int or None
    trends : tuple of GaugeTrend
    """

    verdict: str
    reason: str
    gauge: str | None
    bytes_per_step: int | None
    bytes_per_step_lower: int | None
    at_least: bool
    bytes_per_day: int | None
    confidence: float | None
    budget_bytes: int | None
    seconds_to_budget: float | None
    n_readings: int
    step_wall_ns: int | None
    trends: tuple[GaugeTrend, ...]


def not_measured(reason: str, n_readings: int, budget_bytes: int | None) -> LeakVerdict:
    """No verdict, and why."""
    return LeakVerdict(
        verdict="not_measured",
        reason=reason,
        gauge=None,
        bytes_per_step=None,
        bytes_per_step_lower=None,
        at_least=False,
        bytes_per_day=None,
        confidence=None,
        budget_bytes=budget_bytes,
        seconds_to_budget=None,
        n_readings=n_readings,
        step_wall_ns=None,
        trends=(),
    )


def of_training(readings: Readings, budget_bytes: int | None = None) -> LeakVerdict:
    """Judge a training by its gauges.

    Parameters
    ----------
    readings : Readings
    budget_bytes : int, optional
        What the process may take; the time until then is worked out.
    """
    n = len(readings.steps)
    if n < MIN_READINGS:
        reason = f"{n} steps were read, a verdict needs {MIN_READINGS}"
        return not_measured(reason, n, budget_bytes)
    trends = {
        name: rule.judge(readings.steps, readings.series[name], _threshold(name, readings))
        for name in GAUGES
        if name in readings.series
    }
    if not trends:
        return not_measured("no gauge could be read", n, budget_bytes)
    verdict, gauge, reason = _decide(readings, trends)
    rising = gauge if verdict in ("leak", "fragmentation", "suspect") else None
    value, lower, at_least = _bytes_per_step(rising, trends)
    wall_ns = readings.step_wall_ns
    per_day = None
    if value is not None and wall_ns:
        per_day = value * _DAY_NS // wall_ns
    used = "device_bytes" if rising == "device_bytes" else "rss_bytes"
    last = {name: int(readings.series[name][-1]) for name in trends}
    return LeakVerdict(
        verdict=verdict,
        reason=reason,
        gauge=gauge,
        bytes_per_step=value,
        bytes_per_step_lower=lower,
        at_least=at_least,
        bytes_per_day=per_day,
        confidence=None if rising is None else confidence(trends[rising].z),
        budget_bytes=budget_bytes,
        seconds_to_budget=_seconds_to(budget_bytes, last.get(used), per_day),
        n_readings=n,
        step_wall_ns=wall_ns,
        trends=tuple(
            GaugeTrend(name, GAUGES[name], "step", last[name], trend)
            for name, trend in trends.items()
        ),
    )


def of_command(followed: Followed | None, budget_bytes: int | None = None) -> LeakVerdict:
    """Judge a command by the summed resident sets of its processes: at most ``suspect``."""
    n = 0 if followed is None else followed.n_samples
    if followed is None or n < MIN_READINGS or followed.seconds < MIN_COMMAND_S:
        ran_s = 0.0 if followed is None else followed.seconds
        reason = (
            f"the command was followed for {ran_s:.1f} s ({n} samples), "
            f"a verdict needs {MIN_COMMAND_S:g} s and {MIN_READINGS} samples"
        )
        return not_measured(reason, n, budget_bytes)
    judged_s = followed.seconds * (1 - WARM_UP) * (BLOCKS - 1) / BLOCKS
    trend = rule.judge_minima(
        followed.centres_s, followed.minima_bytes, COMMAND_RISE_BYTES / judged_s, n
    )
    if trend.rises:
        verdict = "suspect"
        reason = (
            "its resident set rises and does not level off; the resident set alone cannot tell "
            "a leak from a cache that fills, data that is loaded, or fragmentation"
        )
        per_day = int(trend.slope.value * 86_400)
    else:
        verdict, per_day = "clean", None
        least = f"{COMMAND_RISE_BYTES // 1024:,} KiB in the time it ran"
        if (trend.turned_away or "").startswith(rule.TOO_FLAT):
            reason = (
                f"its resident set rises by less than {least}, which would count; run it longer"
            )
        else:
            reason = (
                "its resident set does not rise; the resident set alone hides a leak that stays "
                f"below {least}"
            )
    return LeakVerdict(
        verdict=verdict,
        reason=reason,
        gauge="rss_bytes",
        bytes_per_step=None,
        bytes_per_step_lower=None,
        at_least=False,
        bytes_per_day=per_day,
        confidence=confidence(trend.z) if trend.rises else None,
        budget_bytes=budget_bytes,
        seconds_to_budget=_seconds_to(budget_bytes, followed.last_bytes, per_day),
        n_readings=n,
        step_wall_ns=None,
        trends=(GaugeTrend("rss_bytes", "bytes", "s", followed.last_bytes, trend),),
    )


def _threshold(gauge: str, readings: Readings) -> int:
    """Least slope of a gauge that counts, a step."""
    if gauge == "blocks":
        return BLOCKS_PER_STEP
    if gauge != "rss_bytes":
        return BYTES_PER_STEP
    beside = "heap_bytes" in readings.series
    return RSS_BESIDE_BYTES_PER_STEP if beside else RSS_ALONE_BYTES_PER_STEP


def _decide(readings: Readings, trends: dict[str, Trend]) -> tuple[str, str | None, str]:
    """Verdict, deciding gauge and reason."""
    leaking = [name for name in _WORDS if name in trends and trends[name].rises]
    if leaking:
        return "leak", leaking[0], f"{' and '.join(_WORDS[name] for name in leaking)} rises"
    rss = trends.get("rss_bytes")
    by_rss_alone = "heap_bytes" not in trends
    if rss is None or not rss.rises:
        if by_rss_alone:
            return (
                "clean",
                "rss_bytes",
                "the heap in use cannot be read here; the resident set does not rise, and hides "
                f"a leak below {RSS_ALONE_BYTES_PER_STEP // 1024} KiB a step",
            )
        return "clean", None, "neither the heap nor Python's blocks in use rise by what counts"
    if by_rss_alone:
        reason = "the resident set rises, and the heap in use, which would tell why, cannot be read"
        return "suspect", "rss_bytes", reason
    if _past_malloc(readings):
        reason = (
            "the resident set rises by more than malloc holds, the heap in use stands: memory is "
            "mapped past malloc, or one that was mapped is touched bit by bit"
        )
        return "suspect", "rss_bytes", reason
    reason = "the resident set rises though the heap in use stands: malloc keeps what was freed"
    return "fragmentation", "rss_bytes", reason


def _past_malloc(readings: Readings) -> bool:
    """Whether the resident set rose by more than freed memory that malloc keeps can explain.

    All of what was in use at the begin was resident then, and no more than malloc holds at the
    end can be resident of it.
    """
    series = readings.series
    at = int(len(readings.steps) * WARM_UP)
    risen = series["rss_bytes"][-1] - series["rss_bytes"][at]
    return bool(risen > series["held_bytes"][-1] - series["heap_bytes"][at])


def _bytes_per_step(
    gauge: str | None, trends: dict[str, Trend]
) -> tuple[int | None, int | None, bool]:
    """Rise, its lower bound, and whether the rise is one too."""
    if gauge is None:
        return None, None, False
    value, lower = 0.0, 0.0
    # Small Python objects are no part of malloc's heap: both rises add up.
    counted = [gauge]
    if gauge == "heap_bytes" and trends["blocks"].rises:
        counted.append("blocks")
    for name in counted:
        size = BLOCK_BYTES if name == "blocks" else 1
        value += size * trends[name].slope.value
        lower += size * trends[name].slope.lower
    return round(value), round(lower), "blocks" in counted


def _seconds_to(budget: int | None, used: int | None, per_day: int | None) -> float | None:
    if budget is None or used is None or not per_day or per_day < 0:
        return None
    return max(0, budget - used) / per_day * 86_400
