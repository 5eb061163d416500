"""``step_begin`` and ``step_end``: intervals without a block, at any depth and from any thread.

::

    foxbench.step_begin("epoch")
    token = foxbench.step_begin("step")
    trainer.step()
    step = foxbench.step_end(token)
    epoch = foxbench.step_end()          # without a token: this thread's innermost

Where a ``with`` block fits, ``foxbench.measure`` says more: it samples, and it warns.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from foxbench.errors import UsageError
from foxbench.sampler import assemble, lowlevel
from foxbench.sampler.provenance import clear_refs_allowed
from foxbench.sampler.result import Interval


@dataclass(frozen=True)
class Token:
    """An open interval; what :func:`step_end` wants when not the innermost is to end.

    Attributes
    ----------
    name : str
    depth : int
        How many intervals the thread that began it had open before.
    """

    name: str
    depth: int
    thread: int
    interval_id: int


class _Stacks:
    """The open intervals of every thread, innermost last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, list[Token]] = {}

    def push(self, name: str, interval_id: int) -> Token:
        thread = threading.get_ident()
        with self._lock:
            stack = self._open.setdefault(thread, [])
            token = Token(name, len(stack), thread, interval_id)
            stack.append(token)
        return token

    def pop(self, token: Token | None) -> Token:
        with self._lock:
            thread = threading.get_ident() if token is None else token.thread
            stack = self._open.get(thread, [])
            if token is None:
                if not stack:
                    raise UsageError(
                        "step_end() without a step_begin() before it in this thread",
                        "call step_begin() first, or give the token of another thread's",
                    )
                token = stack[-1]
            if token not in stack:
                raise UsageError(
                    f"the interval {token.name!r} is not open in this process",
                    "end an interval once, in the process that began it",
                )
            if stack[-1] is token:
                stack.pop()
            else:
                stack.remove(token)
            if not stack:
                del self._open[thread]
        return token


_stacks = _Stacks()


def _begin_afresh() -> None:
    """In a forked child: what was open is its parent's, and the lock may be held for ever."""
    global _stacks
    _stacks = _Stacks()


os.register_at_fork(after_in_child=_begin_afresh)


def step_begin(name: str = "step") -> Token:
    """Open an interval: the peak from now on is its own, whatever is open around it.

    Parameters
    ----------
    name : str
        Of the :class:`~foxbench.sampler.result.Interval` that comes of it.

    Raises
    ------
    SamplerError
        /proc cannot be read, or 1,048,576 intervals are open already.
    """
    return _stacks.push(name, lowlevel.interval_begin(clear_refs_allowed()))


def step_end(token: Token | None = None) -> Interval:
    """Close an interval and return what it measured.

    Parameters
    ----------
    token : Token, optional
        Of the interval to close, which may be another thread's; by default the innermost one of
        the calling thread.

    Raises
    ------
    UsageError
        It is not open: nothing was begun, it has ended before, or it is a parent process's.
    """
    token = _stacks.pop(token)
    raw = lowlevel.interval_end(token.interval_id)
    return assemble.interval(raw, token.name, token.depth, lowlevel.error_bound_here())
