"""Take the pages of shared libraries out of a step's figure.

A step that calls code for the first time maps the library pages it runs through, and how many
the kernel maps along with each depends on how the file lies in the page cache: the first step of
the same DQN read 15.7 MB in one installation and 23.5 MB in a fresh one.  With every page mapped
before, it read 6.9 MB in both: the gradients and the optimizer's state.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass

from foxbench.errors import SamplerError
from foxbench.sampler import lowlevel


@dataclass(frozen=True)
class _Mapping:
    start: int
    size_bytes: int
    permissions: str
    file: tuple[str, str]  # device and inode


def populate_libraries() -> int | None:
    """Map every page of the files that this process runs code from.

    Meant for a process whose only figure is a step's peak: its resident set grows by hundreds of
    MB of clean, shared pages, which the kernel may take back.

    Returns
    -------
    int or None
        Bytes of the mappings; None where the kernel cannot (before Linux 5.14).
    """
    mappings = list(_mappings())
    libraries = {m.file for m in mappings if "x" in m.permissions}
    total_bytes = 0
    for mapping in mappings:
        if mapping.file not in libraries or "r" not in mapping.permissions:
            continue
        try:
            lowlevel.populate_read(mapping.start, mapping.size_bytes)
        except SamplerError as error:
            if error.errno == errno.EINVAL:
                return None
            continue  # unmapped meanwhile, or past the end of a file that was cut: not ours
        total_bytes += mapping.size_bytes
    return total_bytes


def _mappings() -> Iterator[_Mapping]:
    """Mappings of files, from ``/proc/self/maps`` (proc_pid_maps(5))."""
    with open("/proc/self/maps") as file:
        lines = file.read().splitlines()
    for line in lines:
        addresses, permissions, _, device, inode, *_ = line.split(maxsplit=5)
        if inode == "0":
            continue
        start, end = (int(part, 16) for part in addresses.split("-"))
        yield _Mapping(start, end - start, permissions, (device, inode))
