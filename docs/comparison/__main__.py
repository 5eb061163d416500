"""Measures foxbench's instrument against its peers: ``python docs/comparison QUESTION``.

Each question prints Markdown; ``--json FILE`` writes every single figure and the machine's facts.
Run on a quiet machine; ``--quick`` only shows that it works.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

QUESTIONS = {
    "cost": "What does one sample cost?",
    "wakeup": "What does a tick cost, and how much of it is the wake-up?",
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    # One thread: two OpenMP threads on a shared machine spin and measure each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).parent))
    facts = importlib.import_module("machine").facts()
    print(
        f"Linux {facts['kernel']}, {facts['cpu'] or facts['architecture']}, "
        f"{facts['n_cpus']} CPUs, Python {facts['python']}\n"
    )
    found = {}
    for question in QUESTIONS if options.question == "all" else [options.question]:
        print(f"### {QUESTIONS[question]}\n", flush=True)
        found[question] = importlib.import_module(question).main(options.quick)
        print(flush=True)
        if options.json:  # after each, so that an interrupt loses only what was not finished
            made = {"machine": facts, "quick": options.quick, "figures": found}
            options.json.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
