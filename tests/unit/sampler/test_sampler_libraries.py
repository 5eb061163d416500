"""Library pages are mapped before a step, so that its figure does not depend on them."""

from __future__ import annotations

import subprocess
import sys

from foxbench.sampler import lowlevel
from foxbench.sampler.libraries import populate_libraries

MIB = 1 << 20

# A library's pages that nothing has read yet: those of sqlite, which importing maps and no call
# has run through.
CHILD = """
import _sqlite3
from foxbench.sampler import lowlevel
from foxbench.sampler.libraries import populate_libraries
before = lowlevel.status().file_bytes
mapped = populate_libraries()
once = lowlevel.status().file_bytes
populate_libraries()
print(before, mapped, once, lowlevel.status().file_bytes)
"""


def test_every_library_page_is_resident_afterwards_and_a_second_time_adds_nothing():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    before, mapped, once, twice = map(int, done.stdout.split())
    assert once > before
    # Private pages that were written count as anonymous, so not all of what was mapped is here.
    assert mapped // 2 <= once <= mapped + MIB
    assert abs(twice - once) < MIB


def test_files_that_are_only_read_are_left_alone(tmp_path):
    import mmap

    path = tmp_path / "data.bin"
    path.write_bytes(b"\1" * (64 * MIB))
    populate_libraries()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        before = lowlevel.rss_bytes()
        populate_libraries()
        assert lowlevel.rss_bytes() - before < 8 * MIB
        assert area[0] == 1
