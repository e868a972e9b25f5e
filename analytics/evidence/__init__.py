"""Evidence: which layer made a stage slower, from counters, engine steps and the requests themselves.

`judge_layers` takes the books of a change and both periods and returns `Layers`: ms per layer that add up
with workload, load and what stays unexplained to the change, each with its probability and the findings that
speak for and against it.
"""

from otel_attrib.analytics.evidence.judge import judge_layers
from otel_attrib.analytics.evidence.lines import Evidence, LayerLine, Layers

__all__ = ["Evidence", "LayerLine", "Layers", "judge_layers"]
