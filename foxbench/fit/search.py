"""The search: which size to try next, until one that fits and one that does not lie close.

Pure arithmetic: what a try costs and how it is made is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: A size is called the largest when one at most this much larger does not fit.
CLOSE = 1.05

#: Trainings at the most.
MAX_TRIALS = 12


@dataclass(frozen=True)
class Outcome:
    """What became of one try.

    Attributes
    ----------
    fits : bool or None
        None: it failed for another reason.
    need_bytes : int or None
        What it was measured to need, where it fits.
    """

    fits: bool | None
    need_bytes: int | None


@dataclass(frozen=True)
class Bounds:
    """How far the search came.

    Attributes
    ----------
    fits : int or None
        The largest size that was seen to fit.
    too_large : int or None
        The smallest that was seen not to.
    failed : bool
        A try ended for another reason than want of memory.
    """

    fits: int | None
    too_large: int | None
    failed: bool


def search(
    start: int,
    smallest: int,
    cap: int,
    limit_bytes: int,
    need: Callable[[int], int | None],
    attempt: Callable[[int, int | None], Outcome],
    round_down: Callable[[int], int],
    farthest: int,
) -> Bounds:
    """Find the largest size that fits.

    Parameters
    ----------
    start, smallest, cap : int
        The first size to try, and the ends of what is allowed.
    limit_bytes : int
    need : callable
        Bytes a size is thought to need, growing with it; asked after each try, so that what was
        measured may sharpen it.  None where there is no idea yet.
    attempt : callable
        Try a size; its second argument is what it was thought to need.
    round_down : callable
        The largest valid size up to the given one.
    farthest : int
        The next size is at most so many times the largest that fits.
    """
    low: int | None = None
    high: int | None = None
    value = round_down(max(smallest, min(start, cap)))
    for _ in range(MAX_TRIALS):
        outcome = attempt(value, need(value))
        if outcome.fits is None:
            return Bounds(low, high, True)
        if outcome.fits:
            low = value if low is None else max(low, value)
        else:
            high = value if high is None else min(high, value)
        following = _next(low, high, smallest, cap, limit_bytes, need, round_down, farthest)
        if following is None:
            break
        value = following
    return Bounds(low, high, False)


def _next(
    low: int | None,
    high: int | None,
    smallest: int,
    cap: int,
    limit_bytes: int,
    need: Callable[[int], int | None],
    round_down: Callable[[int], int],
    farthest: int,
) -> int | None:
    """The next size to try; None where nothing is left to find out."""
    if low is None:
        assert high is not None
        return None if high <= smallest else round_down(max(smallest, high // 4))
    if low >= cap:
        return None
    above = _step_up(low, cap, round_down)
    if above is None or (high is not None and (high <= above or high <= low * CLOSE)):
        return None
    predicted = largest(low, cap if high is None else high - 1, limit_bytes, need)
    close = max(above, round_down(min(int(low * CLOSE), cap)))
    if predicted is None:
        guess = 2 * low
    else:
        # What is said to be too large already is tried as well: the last word is a training's.
        guess = max(close, min(predicted, farthest * low))
    if high is not None:
        # Away from the end: a forecast that is a little low would creep up to it step by step.
        guess = min(guess, high - (high - low) // 4, high - 1)
    guess = round_down(max(above, min(guess, cap)))
    return guess if high is None or low < guess < high else None


def largest(low: int, high: int, limit_bytes: int, need: Callable[[int], int | None]) -> int | None:
    """The largest size in ``low..high`` thought to need at most the limit; None without an idea,
    ``low`` where nothing above it is.
    """
    if need(low) is None:
        return None
    # High may be astronomic: find a size that is too large first.
    step = 1
    while low + step < high and (need(low + step) or 0) <= limit_bytes:
        step *= 2
    high = min(high, low + step)
    if (need(high) or 0) <= limit_bytes:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if (need(middle) or 0) <= limit_bytes:
            low = middle
        else:
            high = middle
    return low


def _step_up(low: int, cap: int, round_down: Callable[[int], int]) -> int | None:
    """The smallest valid size above ``low``; None where there is none."""
    step = 1
    while low + step <= cap:
        if round_down(low + step) > low:
            return round_down(low + step)
        step *= 2
    return round_down(cap) if round_down(cap) > low else None
