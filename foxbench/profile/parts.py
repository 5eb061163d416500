"""Which part of a step its peak falls in: forward, backward, update or the rest.

A backward pass of torch goes through ``torch.autograd.backward``, an update through an
optimizer's ``step``: while one step is taken apart, both are wrapped to open an interval around
themselves.  What comes before a backward pass is forward; what follows the last is the rest.  A
step in micro-batches goes forward and back many times; each part's figure is the largest of its
turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from foxbench.sampler import assemble, lowlevel
from foxbench.sampler.provenance import clear_refs_allowed

PARTS = ("forward", "backward", "update", "rest")


class _Anatomy:
    """Peaks of the parts of one step, in bytes above the RSS at its begin."""

    def __init__(self) -> None:
        self.rss_begin_bytes = lowlevel.rss_bytes()
        self.peaks: dict[str, int] = {}
        self._open = lowlevel.interval_begin(clear_refs_allowed())
        self._inside = 0

    def _turn_ends(self, part: str) -> None:
        peak = assemble.peak(lowlevel.interval_end(self._open), lowlevel.error_bound_here())
        above = max(0, peak.bytes - self.rss_begin_bytes)
        self.peaks[part] = max(above, self.peaks.get(part, 0))

    @contextmanager
    def around(self, part: str) -> Iterator[None]:
        """A backward pass or an update; one inside another belongs to the outer."""
        self._inside += 1
        try:
            if self._inside > 1:
                yield
                return
            self._turn_ends("forward" if part == "backward" else "rest")
            self._open = lowlevel.interval_begin(clear_refs_allowed())
            try:
                yield
            finally:
                self._turn_ends(part)
                self._open = lowlevel.interval_begin(clear_refs_allowed())
        finally:
            self._inside -= 1

    def end(self) -> None:
        """The step has ended."""
        self._turn_ends("rest")


@contextmanager
def _wrapped(owner: Any, name: str, part: str, anatomy: _Anatomy) -> Iterator[None]:
    original: Callable[..., Any] = getattr(owner, name)

    def wrapper(*arguments: Any, **options: Any) -> Any:
        with anatomy.around(part):
            return original(*arguments, **options)

    setattr(owner, name, wrapper)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _updates() -> Iterator[Any]:
    """Classes whose ``step`` updates weights: ours, and torch's own that exist."""
    ours = sys.modules.get("foxbench.models.adam")
    if ours is not None:
        yield ours.Adam
    optimizer = getattr(sys.modules.get("torch.optim"), "Optimizer", None)
    waiting = [] if optimizer is None else optimizer.__subclasses__()
    while waiting:
        found = waiting.pop()
        waiting += found.__subclasses__()
        if "step" in vars(found):
            yield found


def step_parts(step: Callable[[], object]) -> dict[str, int] | None:
    """Take one step and return the peak of each of its parts.

    Parameters
    ----------
    step : callable
        One training step; it is really taken.

    Returns
    -------
    dict of str to int, or None
        Bytes above the RSS at the step's begin, by ``PARTS``; a part that the step does not have
        is left out.  None where torch is not loaded or no backward pass was made.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    anatomy = _Anatomy()
    try:
        with ExitStack() as wrapped:
            wrapped.enter_context(_wrapped(torch.autograd, "backward", "backward", anatomy))
            for owner in _updates():
                wrapped.enter_context(_wrapped(owner, "step", "update", anatomy))
            step()
    finally:
        anatomy.end()
    if "backward" not in anatomy.peaks:
        return None
    return {part: anatomy.peaks[part] for part in PARTS if part in anatomy.peaks}
