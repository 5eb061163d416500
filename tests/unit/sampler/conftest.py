from __future__ import annotations

import mmap
from collections.abc import Callable

import pytest

MIB = 1 << 20


class Held:
    """A private mapping whose every page was touched: exactly that many resident bytes."""

    def __init__(self, n_bytes: int) -> None:
        self._map = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._map[::4096] = b"x" * (n_bytes // 4096)

    def drop(self) -> None:
        self._map.close()


@pytest.fixture(scope="session")
def hold() -> Callable[[int], Held]:
    return Held


@pytest.fixture(scope="session")
def spike() -> Callable[[int], None]:
    def touch_and_drop(n_bytes: int) -> None:
        Held(n_bytes).drop()

    return touch_and_drop


@pytest.fixture(scope="session")
def slack_bytes() -> int:
    """What a step peak may be off: the kernel's bound, and Python's own few pages."""
    from foxbench.sampler import lowlevel

    return lowlevel.error_bound_here() + 256 * 1024
