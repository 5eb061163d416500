"""The work that every tool watches: ``workload.py steady|spikes STEPS [fox|psutil]``.

A torch loop; with ``spikes`` a buffer in huge pages is touched, held 0.2 ms and dropped every fifty
steps.  Each has another size, 64 to 256 MiB, so the peak stands for some milliseconds once in the
whole run, as that of a step with an unusual batch does.  Prints the seconds of the loop.  The third
word samples from inside, at 1 kHz.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time

from slowdown import training
from spikes import huge_pages


@contextlib.contextmanager
def fox():
    """Our thread."""
    import foxbench

    with foxbench.measure(hz=1000) as m:
        yield
    print("peak_bytes", m.result.lifetime_peak_bytes)
    print("n_samples", m.result.n_samples)


@contextlib.contextmanager
def psutil_thread():
    """What people write by hand."""
    import psutil

    process, over, sizes = psutil.Process(), threading.Event(), []

    def watch() -> None:
        while not over.wait(0.001):
            sizes.append(process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    over.set()
    thread.join()
    print("peak_bytes", max(sizes))
    print("n_samples", len(sizes))


def main(kind: str, steps: str, inside: str = "") -> None:
    """Do the work."""
    watcher = {"": contextlib.nullcontext, "fox": fox, "psutil": psutil_thread}[inside]
    step = training()
    for _ in range(50):
        step()
    with watcher():
        begin = time.perf_counter()
        for number in range(int(steps)):
            step()
            if kind == "spikes" and number % 50 == 25:
                huge_pages((64 + number // 50 * 37 % 193) << 20)
        print("seconds", time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
