"""The fitted numbers of the evidence model, read from `weights.json`.

The file says what it was fitted on (`fitted_on`), the prior log-odds of every stage over the columns
(`prior`), a weight ≥ 0 for every signal (`weights`; the signal says whether it speaks for or against), the
temperatures of π and of p, and the threshold t above which a cause is named. `benchmarks/attribution/fit.py`
makes it.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.signal import COLUMNS

__all__ = ["SCHEMA", "Weights", "load_weights", "parse_weights"]

SCHEMA = "otel-attrib/evidence-weights/1"
FILE = Path(__file__).with_name("weights.json")


@dataclass(frozen=True)
class Weights:
    """Priors (log-odds by stage and column), weights by signal, temperatures and the threshold."""

    prior: dict[str, Floats]
    weights: dict[str, float]
    temperature: float
    temperature_p: float
    threshold: float

    def stage_prior(self, stage: str) -> Floats:
        """Return the (columns,) log-odds of a stage; of `outside` where it is not listed."""
        return self.prior.get(stage, self.prior["outside"])


def parse_weights(document: dict[str, Any]) -> Weights:
    """Read a weights document; a negative weight or an unknown schema is refused."""
    if document.get("schema") != SCHEMA:
        raise ValueError(f"weights of schema {document.get('schema')!r}; this reads {SCHEMA}")
    weights = {str(name): float(value) for name, value in document["weights"].items()}
    if any(value < 0 for value in weights.values()):
        raise ValueError("a weight below nought would turn evidence round")
    prior = {
        stage: np.array([float(row[column]) for column in COLUMNS])
        for stage, row in document["prior"].items()
    }
    return Weights(
        prior,
        weights,
        float(document["temperature"]),
        float(document["temperature_p"]),
        float(document["threshold"]),
    )


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Return the weights that the package ships."""
    return parse_weights(json.loads(FILE.read_text()))
