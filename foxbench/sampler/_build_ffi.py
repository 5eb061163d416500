"""Write the C source of ``foxbench.sampler._foxsampler`` from the instrument's one header.

Run by CMake as a script, ``_build_ffi.py HEADER OUTPUT``; imports nothing of foxbench, so that it
works before foxbench is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cffi  # type: ignore[import-untyped,unused-ignore]

MODULE = "foxbench.sampler._foxsampler"
BEGIN = "/* cffi: begin */"
END = "/* cffi: end */"


def declarations(header: str) -> str:
    """The part of the header between its two marks; ValueError when a mark is missing."""
    _, begin, rest = header.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the header lacks the line {BEGIN!r} or {END!r}")
    return body


def main(header_path: str, output_path: str) -> None:
    """Generate ``output_path``; it changes only when its content does."""
    ffi = cffi.FFI()
    ffi.cdef(declarations(Path(header_path).read_text(encoding="utf-8")))
    ffi.set_source(MODULE, '#include "foxsampler.h"\n')
    ffi.emit_c_code(output_path)


if __name__ == "__main__":
    main(*sys.argv[1:])
