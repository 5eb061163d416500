"""Checks of how exact figures can be here."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform

from foxbench.errors import FoxbenchError, SamplerError
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor.check import Check, Roots, Values, has_proc, size, text_of
from foxbench.sampler.provenance import libc

#: statm sums the per-CPU counters from here on; VmHWM never does.
_STATM_EXACT = (6, 16)
_PER_CPU = (6, 2)

#: A mark that may be this low hides changes of a small model.
_ROUGH_BYTES = 64 << 20

_OTHER_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")


def kernel(_roots: Roots) -> Check:
    """The kernel's version and what it means for the counters."""
    release = platform.release()
    values: Values = {"release": release}
    try:
        version = lowlevel.kernel_version()
    except FoxbenchError as error:
        return Check("kernel", "limited", error.what, error.remedy, values=values)
    if version >= _STATM_EXACT:
        finding = f"Linux {release}: samples are exact, marks lag by per-CPU batches"
        return Check("kernel", "ok", finding, values=values)
    if version >= _PER_CPU:
        finding = f"Linux {release}: samples and marks both lag by per-CPU batches"
        remedy = "use Linux 6.16 or later for exact samples"
        return Check("kernel", "limited", finding, remedy, values=values)
    finding = f"Linux {release}: samples and marks lag by up to 63 pages a thread"
    return Check("kernel", "ok", finding, values=values)


def error_bound(roots: Roots) -> Check:
    """How many bytes a mark may be low."""
    try:
        bound, page = lowlevel.error_bound_here(), lowlevel.page_bytes()
    except FoxbenchError as error:
        remedy = error.remedy if has_proc(roots) else "see procfs above"
        return Check("error_bound", "missing", error.what, remedy)
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    values: Values = {"err_bytes": bound, "page_bytes": page, "n_cpus": cpus}
    plural = "" if cpus == 1 else "s"
    finding = f"{size(bound)} with {cpus} CPU{plural} and pages of {page:,} bytes"
    if bound > _ROUGH_BYTES:
        remedy = "measure small models on a machine with fewer CPUs, or compare medians"
        return Check("error_bound", "limited", finding, remedy, values=values)
    return Check("error_bound", "ok", finding, values=values)


def huge_pages(roots: Roots) -> Check:
    """Transparent huge pages make memory come in steps of 2 MB."""
    folder = roots.sys / "kernel/mm/transparent_hugepage"
    text = text_of(folder / "enabled")
    if text is None:
        finding = "this kernel has no transparent huge pages"
        if not (roots.sys / "kernel/mm").is_dir():
            finding = "not known: /sys is not mounted here"
        return Check("huge_pages", "info", finding)
    mode = text.partition("[")[2].partition("]")[0]
    values: Values = {"mode": mode}
    if mode == "always":
        finding = "always: small allocations may take whole huge pages, figures come in large steps"
        remedy = f"echo madvise > {folder / 'enabled'}, for finer figures"
        return Check("huge_pages", "limited", finding, remedy, values=values)
    meaning = "only where a program asks for them" if mode == "madvise" else "none are used"
    return Check("huge_pages", "ok", f"{mode}: {meaning}", values=values)


def library_pages(_roots: Roots) -> Check:
    """Whether library pages can be mapped before a first step (madvise(2), MADV_POPULATE_READ)."""
    # The page is not closed while an address of it is out, so it lives as long as this call.
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    try:
        lowlevel.populate_read(address, mmap.PAGESIZE)
    except SamplerError as error:
        finding = f"{error.what}: a first step counts library pages too"
        remedy = "allow madvise (seccomp)"
        if error.errno == errno.EINVAL:
            remedy = "use Linux 5.14 or later (MADV_POPULATE_READ)"
        return Check("library_pages", "limited", finding, remedy)
    except FoxbenchError as error:
        return Check("library_pages", "missing", error.what, error.remedy)
    return Check("library_pages", "ok", "can be mapped before a first step is measured")


def allocator(roots: Roots) -> Check:
    """Whether freed bytes can be made to go back at once."""
    found = libc()
    values: Values = {"libc": found}
    maps = text_of(roots.proc / "self/maps") or ""
    other = next((name for name in _OTHER_ALLOCATORS if f"lib{name}" in maps), None)
    if other:
        finding = f"{other} is loaded in malloc's place: the quiet allocator has no effect on it"
        remedy = "unset LD_PRELOAD to measure memory"
        return Check("allocator", "limited", finding, remedy, values=values)
    if not found.startswith("glibc"):
        finding = "not glibc: the quiet allocator is not available, peaks repeat less well"
        remedy = "use an image with glibc (debian, not alpine)"
        return Check("allocator", "limited", finding, remedy, values=values)
    return Check("allocator", "ok", f"{found}: the quiet allocator works", values=values)
