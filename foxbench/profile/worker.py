"""The training process: ``main([SPEC.json])``, started by :mod:`foxbench.profile.runner`.

Measures itself phase by phase and writes every finished phase and step to the log at once, so
that the parent can tell what was measured when this process raises, is killed or runs out of
memory.  It keeps nothing itself: what it collected would show in what it measures.
"""

from __future__ import annotations

import ctypes
import signal
import traceback
from pathlib import Path

from foxbench.errors import EXIT_NOT_MEASURED, EXIT_OK, FoxbenchError, NotMeasured
from foxbench.profile import oom
from foxbench.profile.log import LogWriter
from foxbench.profile.spec import Spec
from foxbench.profile.training import Training, flat
from foxbench.sampler import timeline_file
from foxbench.sampler.measure import measure
from foxbench.sampler.result import Measurement

#: Characters of a traceback that are kept: its end tells, a deep recursion has thousands of lines.
_TRACEBACK_CHARS = 20_000

_PR_SET_PDEATHSIG = 1  # prctl(2)


def main(argv: list[str]) -> int:
    """Run the spec and return the exit code.

    0 for a finished training, the error's own code for a :class:`FoxbenchError`, and 3 (not
    measured) when the training raised.
    """
    _die_with_parent()
    spec = Spec.load(argv[0])
    log = LogWriter(spec.log)
    meter = measure(hz=spec.hz, name="profile")
    code = EXIT_OK
    try:
        with meter:
            Training(spec, log, meter).run()
    except (Exception, SystemExit) as error:
        code = error.exit_code if isinstance(error, FoxbenchError) else EXIT_NOT_MEASURED
        log.write(
            "error",
            type=type(error).__name__,
            message=str(error),
            oom=oom.is_refusal(error),
            not_measured=isinstance(error, NotMeasured),
            # A foxbench error says what is wrong in its message; the call path adds nothing.
            traceback=None if isinstance(error, FoxbenchError) else _short_traceback(error),
        )
    result = meter.result
    lost = _keep_timeline(result, spec)
    log.write(
        "end",
        ok=code == EXIT_OK,
        whole=flat(result.whole, result.whole.begin_ns),
        file_bytes=_file_bytes(),
        lifetime_peak_bytes=result.lifetime_peak_bytes,
        n_samples=result.n_samples,
        n_missed=result.n_missed,
        sampler_cpu_ns=result.sampler_cpu_ns,
        self_bytes=result.self_bytes,
        warnings=[*result.warnings, *lost],
    )
    log.sync()
    return code


def _keep_timeline(result: Measurement, spec: Spec) -> list[str]:
    """Write the samples beside the log, once everything has been measured.

    Failing costs no run: the returned warning says what is missing.
    """
    path = Path(spec.log).with_name("timeline.parquet")
    try:
        timeline_file.write(timeline_file.from_measurement(result), path)
    except (FoxbenchError, ImportError, MemoryError) as error:
        return [f"the samples could not be kept in {path.name}: {error}"]
    return []


def _file_bytes() -> int | None:
    """RssFile of proc_pid_status(5); None before Linux 4.5."""
    for line in Path("/proc/self/status").read_bytes().splitlines():
        if line.startswith(b"RssFile:"):
            return int(line.split()[1]) * 1024
    return None


def _short_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-_TRACEBACK_CHARS:]


def _die_with_parent() -> None:
    """Ask the kernel to end this process with its parent: nobody would read its figures."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
