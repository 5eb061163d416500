from __future__ import annotations

from asv.graph import GraphSet
from asv.step_detect import detect_regressions

from foxbench.site.weights import drop_byte_weights

MB = 1_000_000


def graphs_with_a_step_at_the_last_commit():
    """Ten commits at 40 MB, one at 44 MB whose samples held one outlier: a wide interval."""
    graphs = GraphSet()
    for name in ("m.steppeak_step", "m.time_step"):
        graph = graphs.get_graph(name, {"machine": "fox"})
        for revision in range(10):
            graph.add_data_point(revision, 40.0 * MB + 1000 * (revision % 3), 2 / 8000)
        graph.add_data_point(10, 44.0 * MB, 2 / (4 * MB))
    graphs.detect_steps()
    return graphs


BENCHMARKS = {"m.steppeak_step": {"unit": "bytes"}, "m.time_step": {"unit": "seconds"}}


def jumps(graph):
    return [jump[1] for jump in detect_regressions(graph.get_steps(), 0.05)[2] or []]


def test_asv_alone_overlooks_the_step_and_without_weights_it_lists_it():
    graphs = graphs_with_a_step_at_the_last_commit()
    (graph,) = graphs.get_graph_group("m.steppeak_step")
    assert jumps(graph) == []
    assert drop_byte_weights(graphs, BENCHMARKS) == 1
    assert jumps(graph) == [10]


def test_graphs_of_other_units_keep_their_weights():
    graphs = graphs_with_a_step_at_the_last_commit()
    (graph,) = graphs.get_graph_group("m.time_step")
    before = graph.data_weights
    drop_byte_weights(graphs, BENCHMARKS)
    assert graph.data_weights is before


def test_values_and_gaps_of_a_parametrized_graph_stay_as_they_were():
    graphs = GraphSet()
    graph = graphs.get_graph("m.steppeak_step", {"machine": "fox"})
    graph.add_data_point(0, [1.0, 2.0], [0.5, None])
    graph.add_data_point(1, None, None)
    graph.add_data_point(2, [1.0, None], [0.5, None])
    assert drop_byte_weights(graphs, BENCHMARKS) == 1
    assert [value for _, value, _ in graph.get_data()] == [[1.0, 2.0], [None, None], [1.0, None]]
    assert len(graph.get_steps()) == 2
