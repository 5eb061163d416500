"""Keep asv's step detection from weighing memory by its confidence interval.

asv weighs each point by 2 / interval width.  Memory comes in a few samples, most of them equal to
the page: one commit whose samples happen to differ by a page less gets a weight a thousand times
its neighbours', and a real step beside it is lost.  Points without a weight all count the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def drop_byte_weights(graphs: Any, benchmarks: Mapping[str, Any]) -> int:
    """Take the weights off every graph in bytes and let asv detect its steps again.

    Only graphs of this ``asv publish`` are touched; nothing of asv is patched.

    Parameters
    ----------
    graphs : asv.graph.GraphSet
    benchmarks : asv.benchmarks.Benchmarks

    Returns
    -------
    int
        Graphs that had weights.
    """
    n_mended = 0
    for _, graph in graphs:
        about = benchmarks.get(graph.benchmark_name)
        if about is None or about.get("unit") != "bytes":
            continue
        weights = graph.data_weights
        if all(w is None for rows in weights.values() for row in rows for w in row):
            continue
        graph.data_weights = {
            revision: [[None] * len(row) for row in rows] for revision, rows in weights.items()
        }
        graph._steps = None
        graph.detect_steps()
        n_mended += 1
    return n_mended
