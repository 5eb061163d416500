"""Log records and profiles as a real run makes them, for tests that need no run."""

from foxbench.profile import assemble
from foxbench.profile.spec import Spec

MIB = 2**20


def spec(**changes):
    values = {
        "model": "dqn",
        "files": ("/data/es.parquet",),
        "epochs": 2,
        "steps_per_epoch": 3,
        "max_bars": None,
        "settings": {},
        "hz": 1000.0,
        "quiet_allocator": True,
        "threads": 1,
        "search": ("/data",),
        "log": "/data/log.jsonl",
    }
    return Spec(**{**values, **changes})


def phase(name, begin_ns=0, peak_bytes=100 * MIB, rss_begin_bytes=90 * MIB):
    return {
        "kind": "phase",
        "name": name,
        "begin_ns": begin_ns,
        "wall_ns": 5_000_000,
        "user_ns": 3_000_000,
        "system_ns": 1_000_000,
        "rss_begin_bytes": rss_begin_bytes,
        "rss_end_bytes": 95 * MIB,
        "peak_bytes": peak_bytes,
        "peak_err_bytes": 700_000,
        "peak_kind": "hwm",
        "step_peak_bytes": peak_bytes - rss_begin_bytes,
        "minor_faults": 10,
        "major_faults": 0,
        "voluntary_ctxt_switches": 1,
        "involuntary_ctxt_switches": 2,
        "device_peak_bytes": None,
    }


def step(n, loss=1.0, step_peak_bytes=2 * MIB, settled=True):
    return {
        "kind": "step",
        "n": n,
        "loss": loss,
        "settled": settled,
        "step_peak_bytes": step_peak_bytes,
        "rss_bytes": 95 * MIB,
        "wall_ns": 1000 * n,
        "cpu_ns": 900 * n,
    }


def provenance():
    return {
        "foxbench": "0.1.0",
        "measurement_version": 1,
        "python": "3.11.2",
        "torch": "2.13.0",
        "numpy": "2.4.6",
        "kernel": "6.18",
        "page_bytes": 4096,
        "n_cpus": 2,
        "quiet_allocator": True,
        "threads": 1,
        "hz": 1000.0,
        "hwm_reset": True,
        "libc": "glibc 2.36",
    }


def records(losses=(5.0, 4.0, 3.0, 2.0, 1.5, 1.0), peaks_mib=(20, 2, 2, 3, 2, 2), full=9):
    """Everything that a run of two epochs of three steps writes."""
    found = []
    for name in ("import", "load", "features", "build"):
        found += [{"kind": "begin", "name": name}, phase(name)]
        if name == "import":
            found.append({"kind": "setup", "provenance": provenance()})
    found += [
        {"kind": "data", "n_bars": {"ES": 1000}},
        {"kind": "config", "config": {"batch": 64}},
        {"kind": "plan", "per_epoch": 3, "per_full_epoch": full, "total": 6, "seconds": None},
        {"kind": "begin", "name": "first_step"},
        phase("first_step", peak_bytes=110 * MIB),
        step(1, losses[0], peaks_mib[0] * MIB),
        {"kind": "begin", "name": "step"},
    ]
    rest = zip(losses[1:], peaks_mib[1:], strict=True)
    found += [step(n, loss, peak * MIB) for n, (loss, peak) in enumerate(rest, start=2)]
    found += [
        {"kind": "parts", "peaks": {"forward": 1 * MIB, "backward": 2 * MIB, "update": 0}},
        phase("step"),
        {"kind": "bytes", "components": {"params": 8, "grads": 8}},
        {"kind": "begin", "name": "eval"},
        phase("eval"),
        {"kind": "evaluation", "scores": {"loss": 0.5}},
        {
            "kind": "end",
            "ok": True,
            "whole": {**phase("profile", peak_bytes=111 * MIB)},
            "file_bytes": 70 * MIB,
            "warnings": [],
        },
    ]
    return found


def end(**changes):
    values = {
        "returncode": 0,
        "cause": None,
        "oom_killed": False,
        "seen_peak_bytes": 109 * MIB,
        "output_tail": "",
    }
    return assemble.End(**{**values, **changes})


def ok_profile():
    return assemble.profile(spec(), records(), end(), "2026-01-01T00:00:00+00:00")
