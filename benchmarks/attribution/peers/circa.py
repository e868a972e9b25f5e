"""CIRCA: regression of each series on its causes in the call graph; the largest residual is to blame.

Li et al. (2022), "Causal inference-based root cause analysis for online service systems with intervention
recognition", KDD; the scorers of the RCAEval package. The graph is given (counters → stages → latency), as
the paper has it, and so are the windows: RCAEval's own look at 2 minutes around the change alone.
"""

from typing import Any

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.rca_frame import LATENCY, frame_of, meaning
from benchmarks.attribution.peers.stage_layers import COUNTER_LAYER, COUNTER_STAGES, STAGE_LAYER
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def _edges(columns: list[str]) -> list[tuple[str, str]]:
    stages = {meaning(name): name for name in columns if name.startswith("engine_")}
    counters = [name for name in columns if name.startswith("fleet_") and name != LATENCY]
    acting = [
        (name, stages[stage])
        for name in counters
        for stage in COUNTER_STAGES[COUNTER_LAYER[meaning(name)]]
        if stage in stages
    ]
    return acting + [(name, LATENCY) for name in stages.values()]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the node with the highest adjusted score, the latency itself left out."""
    frame, boundary = frame_of(baseline, current, by_place=False)
    columns = [name for name in frame.columns if name != "time" and frame[name].nunique() > 1]
    scores = _scores(frame, boundary, columns)
    scores.pop(LATENCY, None)
    if not scores:
        return Answer(None, note="no series")
    top = max(scores, key=lambda name: (scores[name], name))
    word = meaning(top)
    layer = COUNTER_LAYER.get(word, STAGE_LAYER.get(word))
    return Answer(layer, scores[top][0] / (3 + scores[top][0]), guess=layer, note=top)


def _scores(frame: Any, boundary: int, columns: list[str]) -> dict[str, tuple[float, ...]]:
    from datetime import timedelta

    import networkx as nx
    from RCAEval.classes.data import CaseData, MemoryDataLoader
    from RCAEval.classes.graph import MemoryGraph, Node
    from RCAEval.graph_heads.rht import DAScorer, RHTScorer

    nodes = {name: Node(*name.split("_", 1)) for name in columns}
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes.values())
    graph.add_edges_from((nodes[a], nodes[b]) for a, b in _edges(columns) if a in nodes and b in nodes)
    loaded: dict[str, dict[str, Any]] = {}
    for name in columns:
        entity, metric = name.split("_", 1)
        loaded.setdefault(entity, {})[metric] = list(zip(frame["time"], frame[name], strict=True))
    last = len(frame) - 1
    data = CaseData(
        MemoryDataLoader(loaded),
        sli=nodes[LATENCY],
        detect_time=last,
        interval=timedelta(seconds=1),
        lookup_window=last,
        detect_window=len(frame) - boundary,
    )
    drawn = MemoryGraph(graph)
    found = RHTScorer().score(drawn, data, last)
    found = DAScorer(threshold=3.0).score(drawn, data, last, found)
    return {f"{node.entity}_{node.metric}": tuple(map(float, score.key)) for node, score in found.items()}
