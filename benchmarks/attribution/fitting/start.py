"""Where the fit starts from and is held near: what an engineer would set before any run.

Log-odds of each stage over the columns, of those that can have a part in it (others keep `NEVER`), and one
weight each for a layer's own counters, for patterns, and for what speaks against.
"""

from typing import Final

import numpy as np

from benchmarks.attribution.fitting.design import STAGES
from benchmarks.attribution.fitting.loss import Fitted
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.signal import COLUMNS

__all__ = ["start"]

NEVER: Final = -4.0
OWN, PATTERN, AGAINST = 5.0, 2.0, 2.0
PRIOR: Final[dict[str, dict[str, float]]] = {
    "ingress": {"network": 1.0, "cpu": 1.0, "client": 0.0, "unexplained": 1.0},
    "tokenize": {"cpu": 1.5, "unexplained": 1.0},
    "queue": {
        "scheduler": 1.0,
        "cpu": 0.0,
        "gpu.compute": -2.0,
        "gpu.memory": -2.0,
        "pcie": -2.0,
        "nvlink": -2.0,
        "unexplained": 1.0,
    },
    "kv_init": {"pcie": 0.5, "scheduler": 0.0, "network": -0.5, "cpu": 0.0, "unexplained": 1.0},
    "prefill": {
        "gpu.compute": 0.5,
        "gpu.memory": -0.5,
        "nvlink": 0.0,
        "pcie": 0.0,
        "cpu": 0.0,
        "scheduler": -0.5,
        "unexplained": 1.0,
    },
    "sample": {
        "gpu.compute": 0.0,
        "gpu.memory": -0.5,
        "cpu": 0.5,
        "nvlink": -1.0,
        "pcie": -1.0,
        "unexplained": 1.0,
    },
    "egress": {"client": 0.0, "network": 0.0, "cpu": 0.0, "unexplained": 1.0},
    "outside": {"cpu": 0.0, "network": -1.0, "client": -1.0, "scheduler": -1.0, "unexplained": 1.5},
    "decode_batch_wait": {
        "scheduler": 0.5,
        "cpu": 0.3,
        "gpu.compute": -0.5,
        "gpu.memory": -0.5,
        "nvlink": -0.5,
        "pcie": -1.0,
        "unexplained": 1.0,
    },
    "decode_forward": {
        "gpu.compute": 0.0,
        "gpu.memory": 0.3,
        "nvlink": 0.0,
        "pcie": -0.5,
        "cpu": 0.0,
        "scheduler": -0.5,
        "unexplained": 1.0,
    },
    "decode_sample": {"gpu.compute": 0.0, "gpu.memory": 0.0, "cpu": 0.5, "unexplained": 1.0},
    "decode_egress": {"client": 0.0, "network": 0.0, "cpu": 0.3, "unexplained": 1.0},
    "gap": {
        "scheduler": 0.0,
        "gpu.compute": 0.0,
        "gpu.memory": 0.0,
        "pcie": -0.5,
        "nvlink": -0.5,
        "cpu": 0.0,
        "network": -0.5,
        "client": -0.5,
        "unexplained": 1.5,
    },
}


def start() -> Fitted:
    """Return the starting point."""
    prior = np.array([[PRIOR[stage].get(column, NEVER) for column in COLUMNS] for stage in STAGES])
    weights = [AGAINST if not s.speaks_for else OWN if s.own else PATTERN for s in SIGNALS]
    return Fitted(prior, np.array(weights))
