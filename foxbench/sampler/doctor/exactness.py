"""Checks of how exact figures can be here."""

from __future__ import annotations

import contextlib
import os
import platform
import time

from foxbench.errors import FoxbenchError
from foxbench.sampler import lowlevel
from foxbench.sampler.doctor.check import Check, Roots, text_of
from foxbench.sampler.handles import SamplerThread

#: statm sums the per-CPU counters from here on; VmHWM never does.
_STATM_EXACT = (6, 16)
_PER_CPU = (6, 2)
#: madvise(MADV_POPULATE_READ).
_POPULATE = (5, 14)


def kernel(_roots: Roots) -> Check:
    """The kernel's version and what it means for the counters."""
    release = platform.release()
    try:
        version = lowlevel.kernel_version()
    except FoxbenchError as error:
        return Check("kernel", "limited", error.what, error.remedy, values={"release": release})
    if version >= _STATM_EXACT:
        meaning = "samples are exact, marks lag by per-CPU batches"
    elif version >= _PER_CPU:
        meaning = "samples and marks both lag by per-CPU batches"
    else:
        meaning = "samples and marks lag by up to 63 pages a thread"
    status = "ok" if version >= _STATM_EXACT or version < _PER_CPU else "limited"
    remedy = "" if status == "ok" else "use Linux 6.16 or later for exact samples"
    values: dict[str, int | str | bool | None] = {
        "release": release,
        "populate_read": version >= _POPULATE,
    }
    return Check("kernel", status, f"Linux {release}: {meaning}", remedy, values=values)


def error_bound(_roots: Roots) -> Check:
    """How many bytes a mark may be low."""
    try:
        bound, page = lowlevel.error_bound_here(), lowlevel.page_bytes()
    except FoxbenchError as error:
        return Check("error_bound", "missing", error.what, error.remedy)
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    values: dict[str, int | str | bool | None] = {
        "err_bytes": bound,
        "page_bytes": page,
        "n_cpus": cpus,
    }
    finding = f"{bound:,} bytes with {cpus} CPUs and pages of {page:,} bytes"
    if bound > 64 << 20:
        remedy = "measure small models on a machine with fewer CPUs, or compare medians"
        return Check("error_bound", "limited", finding, remedy, values=values)
    return Check("error_bound", "ok", finding, values=values)


def huge_pages(roots: Roots) -> Check:
    """Transparent huge pages make memory come in steps of 2 MB."""
    text = text_of(roots.sys / "kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return Check("huge_pages", "info", "this kernel has no transparent huge pages")
    mode = text.partition("[")[2].partition("]")[0]
    values: dict[str, int | str | bool | None] = {"mode": mode}
    if mode == "always":
        finding = "always: small allocations may take whole huge pages, figures come in large steps"
        remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, for finer figures"
        return Check("huge_pages", "limited", finding, remedy, values=values)
    return Check("huge_pages", "ok", f"{mode}: only where a program asks for them", values=values)


def timer(_roots: Roots) -> Check:
    """A tenth of a second of sampling at 1 kHz, and how many ticks it missed."""
    try:
        thread = SamplerThread(1000.0, 256)
        try:
            thread.start()
            time.sleep(0.1)
            thread.stop()
            stats = thread.stats()
        finally:
            thread.close()
    except FoxbenchError as error:
        return Check("timer", "missing", error.what, error.remedy)
    ticks = stats.n_samples + stats.n_missed
    if not stats.n_samples:
        remedy = "see the checks of the process above"
        return Check("timer", "missing", "not one sample could be taken", remedy)
    values: dict[str, int | str | bool | None] = {
        "n_samples": stats.n_samples,
        "n_missed": stats.n_missed,
        "cpu_ns_a_tick": stats.cpu_ns // ticks if stats.cpu_ns is not None else None,
    }
    finding = f"{stats.n_missed} of {ticks} ticks at 1 kHz missed"
    if stats.n_missed > ticks // 10:
        remedy = "the machine is busy: leave the sampler a core, or use a lower --hz"
        return Check("timer", "limited", finding, remedy, values=values)
    return Check("timer", "ok", finding, values=values)


def allocator(roots: Roots) -> Check:
    """Whether freed bytes can be made to go back at once."""
    maps = text_of(roots.proc / "self/maps") or ""
    other = next((n for n in ("jemalloc", "tcmalloc", "mimalloc") if f"lib{n}" in maps), None)
    if other:
        finding = f"{other} is preloaded: the quiet allocator has no effect on it"
        return Check("allocator", "limited", finding, "unset LD_PRELOAD to measure memory")
    libc = ""
    with contextlib.suppress(ValueError, OSError):
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    if not libc.startswith("glibc"):
        finding = "not glibc: the quiet allocator is not available, peaks repeat less well"
        return Check(
            "allocator", "limited", finding, "use an image with glibc (debian, not alpine)"
        )
    return Check("allocator", "ok", f"{libc}: the quiet allocator works", values={"libc": libc})
