"""What every account is made of: its contract, and the memory a step is played through on.

A step is played through with shapes in place of tensors.  A :class:`Tensor` here is a shape and a
byte count; it lives as long as Python refers to it, as torch's does, and :class:`Memory` adds up
what lives.  Nothing is allocated, and torch is not imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

F32 = 4
I64 = 8
BYTE = 1  # bool and int8

PAGE = 4096
#: The quiet allocator maps blocks from this size on, each behind a header.
MAPPED_FROM = 65_536
BLOCK_HEADER = 64

#: The parameters' gradients, in every account.
GRADIENTS = "gradients"


@dataclass(frozen=True)
class Part:
    """Bytes with a name, such as ``blocks.2`` or ``selection of past``."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Account:
    """Where the bytes of a training run are, in whole bytes.

    Attributes
    ----------
    params_bytes : int
        Parameters.
    grads_bytes : int
        Gradients of all parameters; they stand from the backward pass to the update only.
    optimizer_bytes : int
        Adam's state, once the first step has allocated it.
    buffers_bytes, data_bytes : int
        As ``Trainer.bytes()`` counts them.
    activations : tuple of Part
        What one forward pass keeps for its backward pass, by layer, in the order of the layers.
    step_peak_bytes : int
        The most that a warm step needs at one moment above what stands between steps: tensors
        as far as they are written to, and what the account knows beside tensors.
    peak_at : str
        That moment, e.g. ``backward of online.layers.0``.
    peak_parts : tuple of Part
        What it is made of, largest first; the sum is ``step_peak_bytes``.
    tensor_peak_bytes : int
        The highest sum of tensors alone, written to or not: what a count of live storages finds.
    """

    params_bytes: int
    grads_bytes: int
    optimizer_bytes: int
    buffers_bytes: int
    data_bytes: int
    activations: tuple[Part, ...]
    step_peak_bytes: int
    peak_at: str
    peak_parts: tuple[Part, ...]
    tensor_peak_bytes: int

    @property
    def resident_bytes(self) -> int:
        """What stands between warm steps, data apart."""
        return self.params_bytes + self.optimizer_bytes + self.buffers_bytes

    @property
    def first_step_extra_bytes(self) -> int:
        """What the first step allocates and keeps: the optimizer's moments, not its count."""
        return self.optimizer_bytes - F32

    @property
    def activations_bytes(self) -> int:
        """Sum of ``activations``."""
        return sum(part.bytes for part in self.activations)


class Memory:
    """Adds up the tensors that live, and remembers the highest moment.

    Parameters
    ----------
    device : str
        On the CPU the quiet allocator's own bytes are added, see :class:`_Heap`.

    Attributes
    ----------
    moment : str
        What happens now.
    layer : str
        The name new tensors go by.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.moment = self.layer = ""
        self.live: dict[str, int] = {}  # written bytes by name
        self.written_bytes = self.tensor_bytes = 0
        self.tensor_peak_bytes = self.peak_bytes = 0
        self.peak_at = ""
        self._at_peak: dict[str, int] = {}
        self.heap = _Heap() if device == "cpu" else None

    def new(self, *shape: int, itemsize: int = F32, written_bytes: int | None = None) -> Tensor:
        """A tensor of its own storage; ``written_bytes`` where a kernel leaves some untouched."""
        return Tensor(Storage(self, math.prod(shape) * itemsize, written_bytes), shape)

    def gradient(self, *shape: int) -> Tensor:
        """A new gradient of a parameter."""
        with self.during(self.moment, GRADIENTS):
            return self.new(*shape)

    def standing(self, *shape: int) -> Tensor:
        """A tensor that stands between steps and is counted there."""
        return Tensor(Storage(self, 0, 0), shape)

    def beside(self, name: str, n_bytes: int) -> Tensor:
        """Bytes that are no tensor's: NumPy's, Python's, the graph's."""
        with self.during(self.moment, name):
            return Tensor(Storage(self, 0, n_bytes), ())

    def like(self, x: Tensor) -> Tensor:
        """A new float32 tensor in the shape of ``x``."""
        return self.new(*x.shape)

    @contextmanager
    def during(self, moment: str, layer: str | None = None) -> Iterator[None]:
        """Name the moment, and the tensors made in it (by default after the moment)."""
        before = self.moment, self.layer
        self.moment, self.layer = moment, moment if layer is None else layer
        try:
            yield
        finally:
            self.moment, self.layer = before

    def change(self, name: str, tensor_bytes: int, written_bytes: int) -> None:
        """Count more (or fewer) bytes under ``name``."""
        self.live[name] = self.live.get(name, 0) + written_bytes
        self.tensor_bytes += tensor_bytes
        self.written_bytes += written_bytes
        self.tensor_peak_bytes = max(self.tensor_peak_bytes, self.tensor_bytes)
        beside = 0 if self.heap is None else self.heap.rounding_bytes + self.heap.kept_bytes
        if self.written_bytes + beside > self.peak_bytes:
            self.peak_bytes = self.written_bytes + beside
            self.peak_at = self.moment
            self._at_peak = self.live.copy()
            if self.heap is not None:
                self._at_peak |= self.heap.parts()

    @property
    def peak_parts(self) -> tuple[Part, ...]:
        """What the highest moment was made of, largest first."""
        held = [Part(name, n) for name, n in self._at_peak.items() if n]
        return tuple(sorted(held, key=lambda part: -part.bytes))


class _Heap:
    """What the quiet allocator of :mod:`foxbench.sampler.allocator` needs beside the tensors.

    A block of 64 KiB or more is mapped for itself, in whole pages, and goes back to the kernel
    when it is freed.  Smaller ones share the heap, whose holes stay until memory is settled, after
    the step: the heap is as large as the most small blocks that lived together until now.
    """

    def __init__(self) -> None:
        self.small_bytes = self.small_high_bytes = self.rounding_bytes = 0

    def change(self, block_bytes: int, written_bytes: int, sign: int) -> None:
        """A block comes (1) or goes (-1)."""
        if block_bytes + BLOCK_HEADER < MAPPED_FROM:
            self.small_bytes += sign * written_bytes
            self.small_high_bytes = max(self.small_high_bytes, self.small_bytes)
        else:
            pages = -(-(written_bytes + BLOCK_HEADER) // PAGE)
            self.rounding_bytes += sign * (pages * PAGE - written_bytes)

    @property
    def kept_bytes(self) -> int:
        """Holes."""
        return self.small_high_bytes - self.small_bytes

    def parts(self) -> dict[str, int]:
        """By name."""
        return {"heap: freed small blocks": self.kept_bytes, "whole pages": self.rounding_bytes}


class Storage:
    """Bytes that one or more tensors share; freed when the last of them is gone."""

    __slots__ = ("bytes", "memory", "name", "users", "written_bytes")

    def __init__(self, memory: Memory, n_bytes: int, written_bytes: int | None) -> None:
        self.memory, self.bytes, self.users = memory, n_bytes, 0
        self.name = memory.layer
        self.written_bytes = n_bytes if written_bytes is None else written_bytes
        self._count(1)

    def free(self) -> None:
        """The last tensor is gone."""
        self._count(-1)

    def _count(self, sign: int) -> None:
        heap = self.memory.heap
        if heap is not None and self.written_bytes:
            heap.change(self.bytes or self.written_bytes, self.written_bytes, sign)
        self.memory.change(self.name, sign * self.bytes, sign * self.written_bytes)

    def write(self, n_bytes: int) -> None:
        """From now on at least ``n_bytes`` are written to."""
        self._count(-1)
        self.written_bytes = max(n_bytes, self.written_bytes)
        self._count(1)


class Tensor:
    """A shape on a storage; ``node`` made it and takes its gradient, None where none flows."""

    __slots__ = ("node", "shape", "storage")

    def __init__(self, storage: Storage, shape: tuple[int, ...], node: Any = None) -> None:
        self.storage, self.shape, self.node = storage, shape, node
        storage.users += 1

    def __del__(self) -> None:
        storage = self.storage
        storage.users -= 1
        if not storage.users:
            storage.free()

    def view(self, *shape: int) -> Tensor:
        """The same storage in another shape, or a part of it; no gradient flows through."""
        return Tensor(self.storage, shape or self.shape)


def floats(shapes: Iterable[tuple[int, ...]]) -> int:
    """Bytes of float32 tensors of these shapes."""
    return F32 * sum(math.prod(shape) for shape in shapes)
