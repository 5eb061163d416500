"""All checks in order, and what they mean together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from foxbench.errors import EXIT_ENVIRONMENT, EXIT_NOT_MEASURED, EXIT_OK
from foxbench.sampler.doctor import (
    device,
    exactness,
    limits,
    process,
    procfs,
    software,
    timing,
    trees,
)
from foxbench.sampler.doctor.check import Check, Roots, size

SCHEMA_VERSION = 1

GROUPS: dict[str, tuple[Callable[[Roots], Check], ...]] = {
    "process": (
        process.compiled_sampler,
        procfs.procfs,
        process.statm,
        process.high_water_mark,
        process.memory_split,
        process.io_counters,
        process.cpu_and_faults,
    ),
    "tree": (
        trees.launcher,
        trees.children_files,
        trees.proportional_set,
        trees.compare_memory,
        trees.subreaper,
        trees.attach,
    ),
    "exactness": (
        exactness.kernel,
        exactness.error_bound,
        exactness.huge_pages,
        exactness.library_pages,
        exactness.allocator,
        timing.clock,
        timing.timer,
        timing.processors,
    ),
    "limits": (limits.memory_limit, limits.cgroup_peak, limits.swap, limits.overcommit),
    "device": (device.nvml,),
    "software": (software.python, software.torch, software.asv),
}


@dataclass(frozen=True)
class Examination:
    """What all checks found.

    Attributes
    ----------
    summary : str
        One line for people.
    exit_code : int
        0: peaks are exact.  3: peaks can only be sampled.  5: nothing can be measured.
    groups : dict of str to tuple of Check
    """

    summary: str
    exit_code: int
    groups: dict[str, tuple[Check, ...]]

    def as_json(self) -> dict[str, Any]:
        """The form of ``foxbench doctor --json``: ``schema_version``, ``summary``, ``checks``."""
        checks = [
            {"group": group, **asdict(check)}
            for group, checks in self.groups.items()
            for check in checks
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            "summary": self.summary,
            "exit_code": self.exit_code,
            "checks": checks,
        }


def examine(roots: Roots | None = None) -> Examination:
    """Run every check; none of them can end the examination."""
    roots = roots or Roots()
    groups = {
        name: tuple(_run(check, roots) for check in checks) for name, checks in GROUPS.items()
    }
    failed = [c for checks in groups.values() for c in checks if c.status == "missing"]
    for need, code, text in (
        ("all", EXIT_ENVIRONMENT, "nothing can be measured here: {}"),
        ("exact", EXIT_NOT_MEASURED, "peaks are samples and lower bounds here, because: {}"),
    ):
        reasons = [check.finding for check in failed if check.needed_for == need]
        if reasons:
            return Examination(text.format(reasons[0]), code, groups)
    mark = next(c for c in groups["process"] if c.name == "high_water_mark")
    bound = mark.values.get("err_bytes")
    if not isinstance(bound, int):  # the check itself failed: _run() has said how
        return Examination("how exact peaks are here is not known", EXIT_NOT_MEASURED, groups)
    return Examination(f"peaks are exact to {size(bound)} here", EXIT_OK, groups)


def _run(check: Callable[[Roots], Check], roots: Roots) -> Check:
    """One check.  The doctor is called to odd machines: a fault of one check is its answer."""
    try:
        return check(roots)
    except Exception as error:
        finding = f"the check itself failed: {type(error).__name__}: {error}"
        remedy = "this is a bug of foxbench: please report it with the output of --json"
        return Check(check.__name__, "limited", finding, remedy)
