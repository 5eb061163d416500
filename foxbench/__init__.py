"""foxbench: exact memory of one training step, and its history.

Importing the package imports neither numpy nor the compiled sampler; both come with the first
use of :class:`measure` or :func:`step_peak`.  So parts that need no sampler, like the asv plugin,
work from a source checkout where nothing was compiled.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would cost 7 ms of the start of every command

if TYPE_CHECKING:
    from foxbench.sampler.intervals import step_begin, step_end
    from foxbench.sampler.measure import measure
    from foxbench.sampler.step import step_peak

    __version__: str

__all__ = ["__version__", "measure", "step_begin", "step_end", "step_peak"]

#: Where each name comes from, on its first use.
_HOMES = {
    "measure": "foxbench.sampler.measure",
    "step_begin": "foxbench.sampler.intervals",
    "step_end": "foxbench.sampler.intervals",
    "step_peak": "foxbench.sampler.step",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("foxbench")
        except metadata.PackageNotFoundError:
            return "0+source"  # a checkout that was never installed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
