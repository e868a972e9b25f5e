"""How far two clocks may be apart: what must be known before times of two nodes are set against each other.

One node is one clock, whoever reads it: the difference is 0. Of two nodes it is at most the sum of what each
says of its own (`slatag.clock.uncertainty` in seconds, or `slatag.clock_uncertainty_us` on its samples);
where one says nothing it is unknown, which is not nought.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.evidence.series import Readings, clock_by_node
from otel_attrib.analytics.wording import digits
from otel_attrib.schema.context_counters import EVERY_COUNTER

__all__ = ["Clocks", "read_clocks"]

_COUNTER = next(n for n, counter in enumerate(EVERY_COUNTER) if counter.key == "clock_uncertainty")


@dataclass(frozen=True, slots=True)
class Clocks:
    """Node → how far its clock may be off, µs; a node that does not say is absent."""

    by_node: Mapping[str, float] = field(default_factory=dict)

    def between(self, node: str, other: str) -> float | None:
        """Return the most that the clocks of two nodes may differ, in µs; None where that is not known."""
        if node == other:
            return 0.0
        if node not in self.by_node or other not in self.by_node:
            return None
        return self.by_node[node] + self.by_node[other]

    def why(self, node: str, other: str) -> str:
        """Say what the uncertainty rests on, in a few words."""
        apart = self.between(node, other)
        if node == other:
            return f"one clock: {node or 'one node'}"
        if apart is None:
            silent = [name for name in (node, other) if name not in self.by_node]
            told = (
                "does not say how far its clock is"
                if len(silent) == 1
                else "do not say how far their clocks are"
            )
            return f"unknown: {' and '.join(silent)} {told} off"
        return f"{node} and {other} within {digits(apart / 1e3)} ms"


def read_clocks(samples: pa.Table, readings: Readings) -> Clocks:
    """Return what the samples of a stretch of time say of their nodes' clocks, the largest of each."""
    found = clock_by_node(samples)
    mine = readings.of(_COUNTER)
    for code in np.unique(mine.node):
        seconds = mine.value[mine.node == code]
        name = mine.nodes[int(code)]
        found[name] = max(found.get(name, 0.0), float(seconds.max()) * 1e6)
    return Clocks(found)
