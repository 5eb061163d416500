"""The work that every tool watches: ``workload.py steady|spikes STEPS [fox|psutil]``.

A torch loop; with ``spikes`` a buffer of 64 MiB in huge pages is touched and dropped every fifty
steps, which takes a few milliseconds.  Prints the seconds of the loop.  The third word samples
from inside, at 1 kHz.
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


@contextlib.contextmanager
def psutil_thread():
    """What people write by hand."""
    import psutil

    process, over, peak = psutil.Process(), threading.Event(), [0]

    def watch() -> None:
        while not over.wait(0.001):
            peak[0] = max(peak[0], process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    over.set()
    thread.join()
    print("peak_bytes", peak[0])


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
                huge_pages(64 << 20)
        print("seconds", time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
