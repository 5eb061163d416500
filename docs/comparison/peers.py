"""The same work under GNU time, mprof, psrecord, memray, a psutil thread, and foxbench both ways.

The peers are installed into a folder of their own (``requirements.txt`` beside this file); one
that cannot be is reported as not run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from table import ROOT, mib, show

HERE = Path(__file__).parent
WORK = [sys.executable, str(HERE / "workload.py")]


@dataclass(frozen=True)
class Peer:
    """How a tool is put around the work, and where the peak it found stands.

    ``peak`` gets the tool's output, what the work printed included, and the folder it ran in.
    """

    name: str
    command: Callable[[list[str]], list[str]]
    peak: Callable[[str, Path], float | None]


def said(pattern: str, unit: int) -> Callable[[str, Path], float | None]:
    """The number behind a pattern in the output."""

    def found(output: str, _folder: Path) -> float | None:
        match = re.search(pattern, output)
        return float(match[1]) * unit if match else None

    return found


def mprof_peak(_output: str, folder: Path) -> float | None:
    """Largest MEM line of its file, in MiB."""
    lines = [line.split() for line in (folder / "mprof.dat").read_text().splitlines()]
    return max((float(line[1]) for line in lines if line[:1] == ["MEM"]), default=0) * 2**20


def psrecord_peak(_output: str, folder: Path) -> float | None:
    """Largest real size of its log, in MB of 2**20."""
    lines = (folder / "psrecord.txt").read_text().splitlines()
    return max((float(line.split()[2]) for line in lines if line[:1] != "#"), default=0) * 2**20


def memray_peak(_output: str, folder: Path) -> float | None:
    """What its own statistics call peak memory: of the heap alone."""
    target = folder / "stats.json"
    command = [sys.executable, "-m", "memray", "stats", "--json", "-f", "-o", str(target)]
    subprocess.run([*command, str(folder / "memray.bin")], capture_output=True, check=True)
    peak: float = json.loads(target.read_text())["metadata"]["peak_memory"]
    return peak


def fox_run_peak(_output: str, folder: Path) -> float | None:
    """Of our JSON."""
    peak: float = json.loads((folder / "fox.json").read_text())["peak_single_bytes"]
    return peak


def peers() -> list[Peer]:
    """All of them, bare first."""
    module = [sys.executable, "-m"]
    foxbench = str(Path(sys.executable).with_name("foxbench"))
    interval = "0.01"
    return [
        Peer("bare", lambda work: work, lambda *_: None),
        Peer(
            "foxbench run, 1 kHz",
            lambda work: [foxbench, "run", "-q", "--json", "fox.json", "--", *work],
            fox_run_peak,
        ),
        Peer("foxbench.measure, 1 kHz", lambda work: [*work, "fox"], said(r"peak_bytes (\d+)", 1)),
        Peer(
            "GNU time -v",
            lambda work: [shutil.which("time") or "time", "-v", *work],
            said(r"Maximum resident set size \(kbytes\): (\d+)", 1024),
        ),
        Peer("psutil thread, 1 kHz", lambda work: [*work, "psutil"], said(r"peak_bytes (\d+)", 1)),
        Peer(
            "mprof, 100 Hz",
            lambda work: [*module, "mprof", "run", "-T", interval, "-o", "mprof.dat", *work],
            mprof_peak,
        ),
        Peer(
            "psrecord, 100 Hz",
            # As its own process: its documented way, a command in a string, measures the shell.
            lambda work: [
                sys.executable,
                str(HERE / "psrecord_around.py"),
                interval,
                "psrecord.txt",
                *work,
            ],
            psrecord_peak,
        ),
        Peer(
            "memray",
            lambda work: [*module, "memray", "run", "-q", "-f", "-o", "memray.bin", *work[1:]],
            memray_peak,
        ),
    ]


def run(peer: Peer, work: list[str], env: dict[str, str]) -> tuple[float, float | None] | None:
    """Seconds of the loop and the peak found; None when the tool cannot run here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            done = subprocess.run(
                peer.command(work), cwd=folder, env=env, capture_output=True, text=True, timeout=600
            )
            output = done.stdout + done.stderr
            seconds = re.search(r"seconds ([\d.]+)", output)
            if done.returncode != 0 or seconds is None:
                print(f"{peer.name}: not run: {output.strip().splitlines()[-1:]}\n")
                return None
            return float(seconds[1]), peer.peak(output, folder)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{peer.name}: not run: {error}\n")
            return None


def true_peak_bytes(work: list[str], env: dict[str, str]) -> int:
    """The kernel's own mark of the bare work, as its parent is small when it is reaped."""
    read = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=-3, check=True);"
    read += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    command = [sys.executable, "-I", "-S", "-c", read, *work]
    return int(subprocess.run(command, env=env, capture_output=True, check=True).stdout)


def main(quick: bool) -> None:
    """Print a table for steady work and one for spikes."""
    with tempfile.TemporaryDirectory() as name:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", name]
        pip += ["--no-warn-conflicts", "-r", str(HERE / "requirements.txt")]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), name])}
        env.pop("PIP_CONSTRAINT", None)
        os.environ["PYTHONPATH"] = env["PYTHONPATH"]  # for memray's own statistics
        subprocess.run(pip, env=env, check=False)
        steps = "200" if quick else "2000"
        for kind in ("steady", "spikes"):
            work = [*WORK, kind, steps]
            truth = true_peak_bytes(work, env)
            found: dict[str, list[tuple[float, float | None]]] = {}
            for _ in range(1 if quick else 7):
                for peer in peers():
                    result = run(peer, work, env)
                    if result is not None:
                        found.setdefault(peer.name, []).append(result)
            print(f"{kind}: true peak {mib(truth)} MiB\n")
            bare = [seconds for seconds, _ in found["bare"]]
            rows = []
            for peer_name, results in found.items():
                pairs = zip(results, bare, strict=False)
                ratio = statistics.median(seconds / base for (seconds, _), base in pairs)
                peaks = [peak for _, peak in results if peak is not None]
                peak = statistics.median(peaks) if peaks else None
                share = "" if peak is None else f"{peak / truth:.1%}"
                rows.append((peer_name, f"{ratio:.2f}x", mib(peak) if peak else "", share))
            show(["", "time of the loop", "peak found, MiB", "of the true peak"], rows)
            print()
