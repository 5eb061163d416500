"""What a benchmark class of a training step inherits: time, memory and the first step.

A subclass says what is measured and nothing of how::

    from foxbench.suite import StepSuite

    class Dqn(StepSuite):
        params = (["cpu"], [64, 4096])
        param_names = ("device", "batch")

        def prepare(self, device, batch):
            self.trainer = build("dqn", data(), config("dqn", batch=batch), device)

        def step(self):
            return self.trainer.step()

and gets ``time_step``, ``peakmem_step``, ``steppeak_step`` and ``steppeak_first_step``.  A class
whose ``prepare`` and ``step`` do nothing is the empty twin: what it reads is the floor of the
instrument.  Raise ``NotImplementedError`` in ``prepare`` to have asv skip a combination.
"""

from __future__ import annotations

import abc
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import foxbench.asv_types  # noqa: F401  registers steppeak_

F = TypeVar("F", bound=Callable[..., Any])

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def settings(**attributes: Any) -> Callable[[F], F]:
    """Set asv's attributes on a benchmark method."""

    def apply(method: F) -> F:
        for name, value in attributes.items():
            setattr(method, name, value)
        return method

    return apply


class StepSuite(abc.ABC):
    """Mixin of the benchmarks of one step.

    asv discovers what a module imports as well as what it defines; being abstract keeps this
    class itself out of the suite.

    Attributes
    ----------
    params, param_names
        asv's own; ``prepare`` receives one combination.
    timeout : float
        Seconds for one process, setup included.
    threads : int
        Threads of the numeric libraries.  One, because two OpenMP threads on a shared machine
        spin, and because every thread has buffers of its own.  Set in ``setup``, before
        ``prepare``: import numeric libraries there, or in the module and export
        ``OMP_NUM_THREADS`` as well.  A variable that is already set stays as it is.
    """

    timeout: float = 600.0
    threads: int = 1

    @abc.abstractmethod
    def prepare(self, *params: Any) -> None:
        """Load data and build what ``step`` needs; called once in each process."""

    @abc.abstractmethod
    def step(self) -> object:
        """Do one step; called repeatedly, the result is dropped."""

    def setup(self, *params: Any) -> None:
        """Prepare once a process.

        asv sets up anew before every timed call; a new trainer each time would make each of
        those calls a first step.
        """
        if getattr(self, "_prepared", False):
            return
        self._limit_threads()
        self.prepare(*params)
        self._limit_threads()
        self._prepared = True

    def _limit_threads(self) -> None:
        for name in _THREAD_VARIABLES:
            os.environ.setdefault(name, str(self.threads))
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"].split(",")[0]))

    # CPU time of one warm step; the warm-up of 0.1 s makes at least one call before the first
    # sample.  glibc's allocator is left as it is: the quiet one costs time.
    @settings(
        version="1",
        rounds=2,
        timer=time.process_time,
        number=1,
        repeat=(3, 10, 10.0),
        warmup_time=0.1,
    )
    def time_step(self, *params: Any) -> None:
        """CPU seconds of one warm step."""
        self.step()

    # asv's own type: the whole process, imports and prepare included, as ru_maxrss has it.  Two
    # steps, so that the first one's allocations are there while the second one peaks.
    @settings(version="1", rounds=1)
    def peakmem_step(self, *params: Any) -> None:
        """Bytes of the whole process at its highest."""
        from foxbench.sampler.allocator import quiet_allocator

        quiet_allocator()
        self.step()
        self.step()

    # The second step still grows pools that later ones reuse, hence two to warm up.
    @settings(version="1", rounds=5, warmup=2, repeat=3)
    def steppeak_step(self, *params: Any) -> None:
        """Bytes one warm step needs above what is held between steps."""
        self.step()

    @settings(version="1", rounds=3, warmup=0)
    def steppeak_first_step(self, *params: Any) -> None:
        """Bytes the first step needs: gradients and optimizer state come into being."""
        self.step()
