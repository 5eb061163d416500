"""How many steps a run makes, and before which of them the memory is settled.

Not before all: settling takes about 30 ms of collecting garbage, six times a step of DQN.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

#: Warm steps whose peak counts: what is freed and kept by the heap hides in the RSS before the
#: others, whose peaks come out too small (TFT: 7 MiB instead of 12).
MAX_SETTLED = 10


class Pace(Protocol):
    """The warm steps of one run.

    Attributes
    ----------
    total : int or None
        Steps of the whole run, the first included; None where time ends it.
    """

    total: int | None

    def warm_steps(self) -> Iterator[tuple[int, bool]]:
        """Number of each warm step, from 2 on, and whether to settle before it."""


class Counted:
    """``total`` steps, of which :data:`MAX_SETTLED` warm ones are settled, spread over the run."""

    def __init__(self, total: int) -> None:
        self.total: int | None = total
        n_warm = total - 1
        n_settled = min(n_warm, MAX_SETTLED)
        self._settled = frozenset(2 + i * n_warm // n_settled for i in range(n_settled))

    def warm_steps(self) -> Iterator[tuple[int, bool]]:
        """See :class:`Pace`."""
        assert self.total is not None
        for number in range(2, self.total + 1):
            yield number, number in self._settled


class Soaking:
    """Steps for ``seconds`` from the first warm one on, at least one; settled at equal times."""

    total: int | None = None

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def warm_steps(self) -> Iterator[tuple[int, bool]]:
        """See :class:`Pace`."""
        begin = time.monotonic()
        number, n_settled = 2, 0
        while True:
            elapsed = time.monotonic() - begin
            if number > 2 and elapsed >= self._seconds:
                return
            due = elapsed >= n_settled * self._seconds / MAX_SETTLED
            n_settled += due
            yield number, due
            number += 1
