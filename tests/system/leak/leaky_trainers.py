"""Real trainers, each with something planted; ``leaky_trainers:Class`` on the command."""

import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from foxbench.models.configs import DqnConfig
from foxbench.models.dqn import DqnTrainer

KIB = 1024


@dataclass(frozen=True)
class Planted:
    """How much each step keeps."""

    kib: int = 4


class Clean(DqnTrainer):
    """The DQN trainer with small settings, so that a step takes a millisecond."""

    Config = Planted

    def __init__(self, data, config, device):
        small = DqnConfig(hidden=(64, 32), capacity=2_000, warmup=500, batch=32)
        super().__init__(data, small, device)
        self.n_planted = config.kib * KIB
        self.kept = []
        self.n = 0

    def step(self):
        loss = super().step()
        self.n += 1
        self.plant()
        return loss

    def plant(self):
        """Nothing."""


class KeepsBytes(Clean):
    def plant(self):
        self.kept.append(bytes(self.n_planted))


class KeepsTensors(Clean):
    def plant(self):
        self.kept.append(torch.zeros(self.n_planted // 4))


class KeepsGraphs(Clean):
    """The classic: a loss is kept for the log, and with it the graph and its activations."""

    def plant(self):
        weights = torch.ones(self.n_planted // 4, requires_grad=True)
        self.kept.append((weights * weights).exp().mean())


class KeepsFloats(Clean):
    """Small objects: Python's own allocator serves them, malloc's heap hardly moves."""

    def plant(self):
        self.kept.extend(self.n + i / 7 for i in range(170))


class KeepsSeldom(Clean):
    """Every 16th step 16 times as much."""

    def plant(self):
        if self.n % 16 == 0:
            self.kept.append(bytes(16 * self.n_planted))


class MakesCycles(Clean):
    """Garbage that only a collection frees."""

    def plant(self):
        cycle = [bytes(self.n_planted)]
        cycle.append(cycle)


class StepsOnce(Clean):
    """8 MiB more from one step on."""

    def plant(self):
        if self.n == 200:
            self.kept.append(bytes(8 * KIB * KIB))


class Maps(Clean):
    """Keeps pages that no allocator knows of."""

    def plant(self):
        pages = mmap.mmap(-1, self.n_planted, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.write(b"x" * self.n_planted)
        self.kept.append(pages)


class Fragments(Clean):
    """Leaves holes, each pinned by 24 bytes behind it and too small for whatever comes next.

    In a thread of its own, so in an arena of its own, where no older hole is in the way.
    """

    N_HOLES = 8

    def plant(self):
        if self.n == 1:
            self.size = 8 * KIB
            self.libc = libc = ctypes.CDLL(None)
            libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
            libc.malloc.argtypes = [ctypes.c_size_t]
            libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
            libc.free.argtypes = [ctypes.c_void_p]
            self.thread = ThreadPoolExecutor(1)
        self.thread.submit(self.fragment).result()

    def fragment(self):
        for _ in range(self.N_HOLES):
            self.size += 16
            hole = self.libc.malloc(self.size)
            ctypes.memset(hole, 1, self.size)
            pin = self.libc.malloc(self.size + 64)
            self.libc.free(hole)
            self.libc.realloc(pin, 24)


class Raises(KeepsBytes):
    """Fails at the step of that number, which stands in for the size."""

    def plant(self):
        super().plant()
        if self.n == self.n_planted // KIB:
            raise ValueError("the loss went away")


class RaisesClean(Clean):
    def plant(self):
        if self.n == 80:
            raise ValueError("the loss went away")


class Slow(KeepsBytes):
    """Stops to wait once a verdict is possible."""

    def plant(self):
        super().plant()
        if self.n == 100:
            ThreadPoolExecutor(1).submit(__import__("time").sleep, 600).result()
