"""A torch training loop bare and while it is sampled, in turn (ABBA), in one process."""

from __future__ import annotations

import statistics
import time

from table import show, with_interval

import foxbench

#: Short, because what disturbs a shared machine lasts seconds: it then strikes both sides.
SLICE_SECONDS = 0.15


def training():
    """A small network, its loss and its update: about a millisecond a step."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(7)
    layers = [torch.nn.Linear(225, 256), torch.nn.ReLU(), torch.nn.Linear(256, 3)]
    network = torch.nn.Sequential(*layers)
    inputs, targets = torch.randn(128, 225), torch.randn(128, 3)

    def step() -> None:
        loss = (network(inputs) - targets).square().mean()
        network.zero_grad()
        loss.backward()
        with torch.no_grad():
            for weights in network.parameters():
                weights -= 1e-3 * weights.grad

    return step


def timed(step, n: int) -> tuple[float, float]:
    """Wall and CPU seconds of n steps; CPU is the training thread's own."""
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(n):
        step()
    return time.perf_counter() - wall, time.thread_time() - cpu


def sampled(step, n: int, hz: float) -> tuple[float, float, float, float]:
    """The same under a sampler, the sampler's share of one core, the share of ticks it missed."""
    with foxbench.measure(hz=hz) as m:
        wall, cpu = timed(step, n)
    if m.result.sampler_cpu_ns is None:
        raise RuntimeError("the sampler's CPU time cannot be read here: nothing to compare")
    span_ns = m.result.whole.end_ns - m.result.whole.begin_ns
    missed = m.result.n_missed / (m.result.n_missed + m.result.n_samples)
    return wall, cpu, m.result.sampler_cpu_ns / span_ns, missed


def pair(step, n: int, hz: float, sampled_first: bool) -> dict[str, float]:
    """Two slices bare and two sampled, ABBA or BAAB, so that a drift of the machine cancels."""
    bare, under, shares, misses = [0.0, 0.0], [0.0, 0.0], [], []
    for sample in (sampled_first, not sampled_first, not sampled_first, sampled_first):
        if sample:
            wall, cpu, share, missed = sampled(step, n, hz)
            shares.append(share)
            misses.append(missed)
        else:
            wall, cpu = timed(step, n)
        sums = under if sample else bare
        sums[0] += wall
        sums[1] += cpu
    return {
        "wall_ratio": under[0] / bare[0],
        "cpu_ratio": under[1] / bare[1],
        "sampler_share": statistics.mean(shares),
        "missed_share": statistics.mean(misses),
    }


def main(quick: bool) -> dict[str, list[dict[str, float]]]:
    """Print the table; return every pair."""
    step = training()
    timed(step, 200)
    once, _ = timed(step, 200)
    n = max(1, int(200 / once * SLICE_SECONDS))
    found: dict[str, list[dict[str, float]]] = {}
    for hz in (100, 1000, 10000):
        for number in range(3 if quick else 60):
            found.setdefault(f"{hz:,} Hz", []).append(pair(step, n, hz, number % 2 == 1))
    rows = []
    for label, pairs in found.items():
        share = statistics.median(one["sampler_share"] for one in pairs)
        missed = statistics.median(one["missed_share"] for one in pairs)
        rows.append(
            (
                label,
                len(pairs),
                with_interval([one["wall_ratio"] for one in pairs]),
                with_interval([one["cpu_ratio"] for one in pairs]),
                f"{100 * share:.2f} %",
                f"{100 * missed:.1f} %",
            )
        )
    head = ["", "pairs", "wall ratio (95 %)", "CPU ratio of the loop (95 %)"]
    head += ["sampler, of a core", "ticks missed"]
    show(head, rows)
    return found
