"""Every peer: the module that asks it, the environment it needs, and what it is."""

from dataclasses import dataclass

__all__ = ["PEERS", "PRODUCT", "Peer"]


@dataclass(frozen=True)
class Peer:
    """`environment` is a file of `requirements/` and a folder of build/peers; empty: none is needed.

    `gives` says what its answer holds: layers, stages or slices; `slow` ones are asked for fewer runs by
    `make prove-quick`.
    """

    module: str
    title: str
    environment: str
    gives: str
    slow: bool = False


PRODUCT = Peer("product", "otel-attrib", "", "layers")

PEERS = (
    Peer("tail_accounting", "tail accounting", "", "stages"),
    Peer("mean_difference", "mean difference", "", "stages"),
    Peer("cte_difference", "CTE difference", "", "stages"),
    Peer("rif_regression", "RIF regression", "", "stages"),
    Peer("counter_ratio", "largest counter ratio", "", "counter"),
    Peer("error_counter", "card with an error counter", "", "counter"),
    Peer("event_deltas", "event-deltas score", "", "slices"),
    Peer("baro", "BARO (fse-baro 0.2.2)", "baro", "counter"),
    Peer("nsigma", "N-Sigma (fse-baro 0.2.2)", "baro", "counter"),
    Peer("circa", "CIRCA (RCAEval 1.8.1, graph given)", "circa", "counter"),
    Peer("pysubgroup_", "pysubgroup 0.9.0", "pysubgroup", "slices"),
    Peer("sliceline_", "SliceLine (sliceline 0.3.0)", "sliceline", "slices"),
    Peer("otava_", "Apache Otava 0.8.0 (detects only)", "otava", "detection"),
    Peer("dowhy_", "DoWhy 0.14 distribution_change", "dowhy", "stages", slow=True),
)
