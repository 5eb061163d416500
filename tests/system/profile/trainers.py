"""Trainers as a user writes them, each with an end of its own; ``trainers:Class`` on the command.

Only numpy: what is tested is how a run ends, not what it learns.
"""

import dataclasses
import os
import pathlib
import resource
import signal
import sys
import time

import numpy as np

STEP_BYTES = 24 * 2**20


class Plain:
    """Takes ``STEP_BYTES`` in each step and gives them back."""

    def __init__(self, data, config, device):
        assert config is None
        assert device == "cpu"
        self.rows = data.first.n_bars
        self.n = 0

    def step(self):
        self.n += 1
        held = np.ones(STEP_BYTES // 8)
        self.end()
        return float(held[0]) / self.n

    def end(self):
        """Nothing special happens."""


class TakesThePlace(Plain):
    """Leaves no room for the file of samples."""

    def end(self):
        for log in pathlib.Path("foxbench-runs").glob("*/log.jsonl"):
            (log.parent / "timeline.parquet" / "taken").mkdir(parents=True, exist_ok=True)


class Whole(Plain):
    """Has everything a trainer may have."""

    def steps_per_epoch(self):
        return 4

    def bytes(self):
        return {"params": 1000, "buffers": STEP_BYTES}

    def evaluate(self):
        return {"loss": 0.25, "ratio": float("nan")}


class Mute(Plain):
    def step(self):
        super().step()


class Raises(Plain):
    def end(self):
        if self.n == 7:
            raise ValueError("the loss went away")


class KilledHard(Plain):
    def end(self):
        if self.n == 5:
            os.kill(os.getpid(), signal.SIGKILL)


class Segfaults(Plain):
    def end(self):
        if self.n == 3:
            os.kill(os.getpid(), signal.SIGSEGV)


class LeavesEarly(Plain):
    def end(self):
        if self.n == 3:
            os._exit(0)


class CallsExit(Plain):
    def end(self):
        if self.n == 3:
            sys.exit(0)


class RunsOut(Plain):
    """Runs into a limit of its address space: a real refused allocation."""

    def end(self):
        if self.n == 4:
            resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
            np.ones(2**40 // 8)


class Sleeps(Plain):
    def end(self):
        if self.n == 3:
            time.sleep(600)


class Diverges(Plain):
    def step(self):
        loss = super().step()
        return float("nan") if self.n >= 3 else loss


class Prints(Plain):
    def end(self):
        print("a line of the trainer's own", flush=True)


class Misreads(Plain):
    reads = "bar"


class NoStep:
    def __init__(self, data, config, device):
        pass


class Configured:
    """Takes ``rows`` rows of ``width`` floats, as its config says."""

    @dataclasses.dataclass(frozen=True)
    class Config:
        rows: int = 1024
        width: tuple[int, ...] = (256, 4)
        lr: float | None = 0.5

    def __init__(self, data, config, device):
        self.config = config

    def step(self):
        held = np.ones((self.config.rows, *self.config.width))
        return float(held[0].sum())


class Eager:
    """A small network of torch's own, with torch's own optimizer."""

    def __init__(self, data, config, device):
        import torch

        self.torch = torch
        self.net = torch.nn.Linear(1024, 1024, device=device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def step(self):
        x = self.torch.ones(4096, 1024)
        loss = self.net(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss)


class Exhausted(Eager):
    """Its data ends with the last step that was asked for."""

    left = 4

    def step(self):
        if self.left == 0:
            raise StopIteration("no more data")
        self.left -= 1
        return super().step()


class Grows(Plain):
    """Takes 16 MiB more in each step and keeps them."""

    kept = ()

    def step(self):
        self.kept = (*self.kept, np.ones(2**21))
        return 1.0
