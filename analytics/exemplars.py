"""Requests to look at: those of the current window nearest the displayed quantile."""

from collections.abc import Mapping

import numpy as np

from otel_attrib.analytics import harrell_davis
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.report import Exemplar

__all__ = ["exemplars_of"]

WANTED = 5


def exemplars_of(
    rows: Rows, level: float, shown_ms: float, stages: Mapping[str, Estimate], wanted: int = WANTED
) -> tuple[Exemplar, ...]:
    """Return up to `wanted` requests near the quantile shown, first those whose largest stage grew most.

    Near is whatever weighs on the quantile of the rows at hand.
    """
    first, last = harrell_davis.rank_window(rows.n, level)
    weight = harrell_davis.weights(rows.n, level, first, last)
    near = np.argsort(rows.values, kind="stable")[first - 1 : last][weight > weight.max() / 1000]
    parts = rows.parts[near]
    largest = parts.argmax(axis=1)
    # A stage of the engine's steps (`decode` for a first token) is no part of the request's own time.
    own = [name for name in stages if name in rows.names]
    grown = rows.names.index(max(own, key=lambda name: stages[name].value)) if own else -1
    ids = rows.trace_ids[near].astype(str)
    order = np.lexsort((ids, np.abs(rows.values[near] - shown_ms), largest != grown))
    chosen: dict[str, Exemplar] = {}
    for row in order:
        stage = int(largest[row])
        ms = float(rows.values[near[row]])
        chosen.setdefault(ids[row], Exemplar(ids[row], ms, rows.names[stage], float(parts[row, stage])))
        if len(chosen) == wanted:
            break
    return tuple(chosen.values())
