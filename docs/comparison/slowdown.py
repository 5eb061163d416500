"""A torch training loop bare and while it is sampled, in turn (ABBA), in one process."""

from __future__ import annotations

import statistics
import time

from table import interval, show

import foxbench


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


def sampled(step, n: int, hz: float) -> tuple[float, float, float]:
    """The same under a sampler, and the sampler's share of one core."""
    with foxbench.measure(hz=hz) as m:
        wall, cpu = timed(step, n)
    span_ns = m.result.whole.end_ns - m.result.whole.begin_ns
    return wall, cpu, (m.result.sampler_cpu_ns or 0) / span_ns


def main(quick: bool) -> None:
    """Print the table."""
    step = training()
    timed(step, 200)
    once, _ = timed(step, 200)
    n = int(200 / once * (0.05 if quick else 0.5))
    pairs = 2 if quick else 24
    rows = []
    for hz in (100, 1000, 10000):
        walls, cpus, shares = [], [], []
        for pair in range(pairs):
            # The order turns each time, so that a drift of the machine cancels.
            if pair % 2:
                wall, cpu, share = sampled(step, n, hz)
                bare_wall, bare_cpu = timed(step, n)
            else:
                bare_wall, bare_cpu = timed(step, n)
                wall, cpu, share = sampled(step, n, hz)
            walls.append(wall / bare_wall)
            cpus.append(cpu / bare_cpu)
            shares.append(share)
        low, high = interval(walls)
        rows.append(
            (
                f"{hz:,} Hz",
                pairs,
                f"{statistics.median(walls):.4f} ({low:.4f} to {high:.4f})",
                f"{statistics.median(cpus):.4f}",
                f"{100 * statistics.median(shares):.2f} %",
            )
        )
    head = ["", "pairs", "wall ratio (95 %)", "CPU ratio of the loop", "sampler, of one core"]
    show(head, rows)
