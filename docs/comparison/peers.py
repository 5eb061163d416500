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
from dataclasses import asdict, dataclass
from pathlib import Path

from table import ROOT, install_peers, mib, show

HERE = Path(__file__).parent
WORK = [sys.executable, str(HERE / "workload.py")]


@dataclass(frozen=True)
class Finding:
    """What a tool says of one run; ``n_samples`` is None where it does not sample."""

    peak_bytes: float | None
    n_samples: int | None = None


@dataclass(frozen=True)
class Peer:
    """How a tool is put around the work, and how its finding is read.

    ``finding`` gets the tool's output, what the work printed included, and the folder it ran in.
    """

    name: str
    command: Callable[[list[str]], list[str]]
    finding: Callable[[str, Path], Finding]


def bare(_output: str, _folder: Path) -> Finding:
    """Nothing watched."""
    return Finding(None)


def from_inside(output: str, _folder: Path) -> Finding:
    """What workload.py prints of a sampler inside it."""
    peak, n = (re.search(rf"{key} (\d+)", output) for key in ("peak_bytes", "n_samples"))
    return Finding(int(peak[1]) if peak else None, int(n[1]) if n else None)


def gnu_time(output: str, _folder: Path) -> Finding:
    """Its line, in KiB."""
    match = re.search(r"Maximum resident set size \(kbytes\): (\d+)", output)
    return Finding(int(match[1]) * 1024 if match else None)


def mprof(_output: str, folder: Path) -> Finding:
    """The MEM lines of its file, in MiB."""
    lines = [line.split() for line in (folder / "mprof.dat").read_text().splitlines()]
    sizes = [float(line[1]) * 2**20 for line in lines if line[:1] == ["MEM"]]
    return Finding(max(sizes, default=None), len(sizes))


def psrecord(_output: str, folder: Path) -> Finding:
    """The real sizes of its log, in MB of 2**20."""
    lines = (folder / "psrecord.txt").read_text().splitlines()
    sizes = [float(line.split()[2]) * 2**20 for line in lines if line[:1] != "#"]
    return Finding(max(sizes, default=None), len(sizes))


def memray(_output: str, folder: Path) -> Finding:
    """What its own statistics call peak memory: of the heap alone, every allocation followed."""
    target = folder / "stats.json"
    command = [sys.executable, "-m", "memray", "stats", "--json", "-f", "-o", str(target)]
    subprocess.run([*command, str(folder / "memray.bin")], capture_output=True, check=True)
    return Finding(json.loads(target.read_text())["metadata"]["peak_memory"])


def fox_run(_output: str, folder: Path) -> Finding:
    """Of our JSON."""
    read = json.loads((folder / "fox.json").read_text())
    return Finding(read["peak_single_bytes"], read["n_samples"])


def peers() -> list[Peer]:
    """All of them, bare first."""
    module = [sys.executable, "-m"]
    foxbench = str(Path(sys.executable).with_name("foxbench"))
    interval = "0.01"
    return [
        Peer("bare", lambda work: work, bare),
        Peer(
            "foxbench run, 1 kHz",
            lambda work: [foxbench, "run", "-q", "--json", "fox.json", "--", *work],
            fox_run,
        ),
        Peer("foxbench.measure, 1 kHz", lambda work: [*work, "fox"], from_inside),
        Peer(
            "GNU time -v",
            lambda work: [shutil.which("time") or "time", "-v", *work],
            gnu_time,
        ),
        Peer("psutil thread, 1 kHz", lambda work: [*work, "psutil"], from_inside),
        Peer(
            "mprof, 100 Hz",
            lambda work: [*module, "mprof", "run", "-T", interval, "-o", "mprof.dat", *work],
            mprof,
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
            psrecord,
        ),
        Peer(
            "memray",
            lambda work: [*module, "memray", "run", "-q", "-f", "-o", "memray.bin", *work[1:]],
            memray,
        ),
    ]


def run(peer: Peer, work: list[str], env: dict[str, str]) -> tuple[float, Finding] | None:
    """Seconds of the loop and what was found; None when the tool cannot run here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            done = subprocess.run(
                peer.command(work), cwd=folder, env=env, capture_output=True, text=True, timeout=600
            )
            output = done.stdout + done.stderr
            seconds = re.search(r"seconds ([\d.]+)", output)
            if done.returncode != 0 or seconds is None:
                said = output.strip().splitlines()[-1:]
                print(f"{peer.name}: not run: exit code {done.returncode}: {said}\n")
                return None
            return float(seconds[1]), peer.finding(output, folder)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{peer.name}: not run: {error}\n")
            return None


def true_peak_bytes(work: list[str], env: dict[str, str]) -> int:
    """The kernel's own mark of the bare work, as its parent is small when it is reaped."""
    read = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=-3, check=True);"
    read += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    command = [sys.executable, "-I", "-S", "-c", read, *work]
    return int(subprocess.run(command, env=env, capture_output=True, check=True).stdout)


def measure(work: list[str], env: dict[str, str], n_rounds: int) -> dict[str, list[dict]]:
    """Every peer in turn, so that none has the quiet minutes; ratios are to the same round."""
    found: dict[str, list[dict]] = {}
    for _ in range(n_rounds):
        bare_seconds = None
        for peer in peers():
            result = run(peer, work, env)
            if result is None:
                continue
            seconds, finding = result
            if peer.finding is bare:
                bare_seconds = seconds
            if bare_seconds is not None:
                one = {"seconds": seconds, "ratio": seconds / bare_seconds, **asdict(finding)}
                found.setdefault(peer.name, []).append(one)
    return found


def row(name: str, runs: list[dict], truth: int) -> tuple[str, ...]:
    """A line of the table."""
    ratio = f"{statistics.median(one['ratio'] for one in runs):.2f}x"
    peaks = [one["peak_bytes"] for one in runs if one["peak_bytes"] is not None]
    counts = [one["n_samples"] for one in runs if one["n_samples"] is not None]
    if not peaks:
        return name, ratio, "", "", ""
    middle = statistics.median(peaks)
    share = f"{middle / truth:.1%} ({min(peaks) / truth:.1%})"
    return name, ratio, mib(middle), share, f"{statistics.median(counts):,.0f}" if counts else ""


def main(quick: bool) -> dict[str, object]:
    """Print a table for steady work and one for spikes; return every run."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        if not install_peers(name):
            print("not all peers could be installed\n")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), name])}
        os.environ["PYTHONPATH"] = env["PYTHONPATH"]  # for memray's own statistics
        for kind in ("steady", "spikes"):
            work = [*WORK, kind, "400" if quick else "3000"]
            truth = true_peak_bytes(work, env)
            found = measure(work, env, 1 if quick else 5)
            figures[kind] = {"true_peak_bytes": truth, "runs": found}
            print(f"{kind}: true peak {mib(truth)} MiB\n")
            head = ["", "time of the loop", "peak, MiB", "of the true peak (least)", "samples"]
            show(head, [row(peer_name, runs, truth) for peer_name, runs in found.items()])
            print(flush=True)
    return figures
