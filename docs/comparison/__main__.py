"""Measures foxbench's instrument against its peers: ``python docs/comparison QUESTION``.

Each question prints Markdown.  Run on a quiet machine; ``--quick`` only shows that it works.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

QUESTIONS = {
    "cost": "What does one sample cost?",
    "slowdown": "How much slower is a training loop while it is sampled?",
    "spikes": "How much of a short spike is seen?",
    "gnutime": "Does foxbench run say what GNU time says, and how much later?",
    "peers": "The same work under other tools: time, and the peak they find.",
}


def main() -> None:
    """Ask one question, or all."""
    parser = argparse.ArgumentParser(prog="python docs/comparison", description=__doc__)
    parser.add_argument("question", choices=[*QUESTIONS, "all"])
    parser.add_argument("--quick", action="store_true", help="few rounds: figures mean nothing")
    options = parser.parse_args()
    # One thread: two OpenMP threads on a shared machine spin and measure each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).parent))
    print(
        f"Linux {platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}\n"
    )
    for question in QUESTIONS if options.question == "all" else [options.question]:
        print(f"### {QUESTIONS[question]}\n", flush=True)
        importlib.import_module(question).main(options.quick)
        print(flush=True)


if __name__ == "__main__":
    main()
