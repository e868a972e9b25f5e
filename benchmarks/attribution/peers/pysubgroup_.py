"""pysubgroup: the subgroup of slow requests that stands out most (weighted relative accuracy, depth 2)."""

from typing import Any

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.attributes import layer_of, useful_dimensions
from otel_attrib.analytics.period import Period

__all__ = ["answer"]


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the best subgroup, and the layer that its first attribute stands for."""
    import pandas as pd
    import pysubgroup as ps

    rows = current.rows
    slow = rows.values > np.quantile(baseline.rows.values, level)
    dimensions = useful_dimensions(rows)
    if not 0 < slow.sum() < rows.n or not dimensions:
        return Answer(None, note="no slow requests, or no attributes")
    frame = pd.DataFrame({name: dim.words() for name, dim in dimensions.items()} | {"slow": slow})
    target = ps.BinaryTarget("slow", True)
    space = ps.create_selectors(frame, ignore=["slow"])
    task = ps.SubgroupDiscoveryTask(frame, target, space, result_set_size=1, depth=2, qf=ps.WRAccQF())
    found = ps.BeamSearch().execute(task).to_descriptions()
    if not found:
        return Answer(None, note="no subgroup")
    quality, rule = found[0][:2]
    return _named(float(quality), rule)


def _named(quality: float, rule: Any) -> Answer:
    where = {str(part.attribute_name): str(part.attribute_value) for part in rule.selectors}
    layer = layer_of(where) if quality > 0 else None
    return Answer(layer, max(0.0, quality), guess=layer, where=where)
