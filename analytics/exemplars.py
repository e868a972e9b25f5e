"""Requests to look at: those of the current window nearest the displayed quantile."""

from collections.abc import Mapping

import numpy as np

from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE
from otel_attrib.analytics.report import Exemplar
from otel_attrib.analytics.tail import Tail

__all__ = ["pick_exemplars"]

WANTED = 5


def pick_exemplars(
    tail: Tail | None, level: float, stages: Mapping[str, Estimate], wanted: int = WANTED
) -> tuple[Exemplar, ...]:
    """Return up to `wanted` requests, first those whose own largest stage is the one that grew most."""
    if tail is None:
        return ()
    rows, weight = tail.weights(level)
    names = (*tail.names, OUTSIDE)
    values, parts = tail.values[rows], tail.parts[rows]
    largest = parts.argmax(axis=1)
    grown = names.index(max(stages, key=lambda name: stages[name].value)) if stages else -1
    order = np.lexsort((np.abs(values - float(weight @ values)), largest != grown))
    chosen: dict[str, Exemplar] = {}
    for row in order[weight[order] > weight.max() / 1000]:
        trace_id, stage = tail.trace_ids[rows.start + row], int(largest[row])
        chosen.setdefault(
            trace_id, Exemplar(trace_id, float(values[row]), names[stage], float(parts[row, stage]))
        )
        if len(chosen) == wanted:
            break
    return tuple(chosen.values())
