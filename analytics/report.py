"""The answer of `otel-attrib why`, and its JSON (schema `otel-attrib/why/1`).

Same input, same bytes: keys keep their order, numbers are rounded to a picosecond, and `hash` is the
SHA-256 of everything else. An unknown number is null.
"""

import hashlib
import json
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from otel_attrib.analytics.findings import Evidence, LayerLine, SliceLine
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE, Metric
from otel_attrib.analytics.verdict import RULE, Verdict
from otel_attrib.analytics.windows import Window, rfc3339

__all__ = ["SCHEMA", "STAGES_ARE", "Exemplar", "Report", "Side"]

SCHEMA = "otel-attrib/why/1"
STAGES_ARE = "what is in the tail, not a cause"


@dataclass(frozen=True, slots=True)
class Side:
    """One window: its rows, and the quantile when there were any."""

    window: Window
    n: int
    ms: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "from": rfc3339(self.window.start),
            "to": rfc3339(self.window.end),
            "n": self.n,
            "ms": rounded(self.ms),
        }


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A request of the current window near the quantile, and its largest stage."""

    trace_id: str
    ms: float
    stage: str
    stage_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """Everything `why` knows; times in ms.

    `stages` maps each stage, `outside` included, to the change that it caused (φ_k: its own times having
    changed at equal work). `tail_accounting` is what stood in the tail, after minus before, and no cause.
    Σ layers + workload + load + unexplained = delta; Σ stages + workload + load + stages_unexplained =
    delta. `deciding` says what would decide the matter where the verdict abstains.

    `checks` may hold, beside what `why` has always put there: replay_r2, replay (its reason), size_fit,
    way (of the calculation), certificate, missing_sensors, coverage.
    """

    verdict: Verdict
    metric: Metric
    level: float
    baseline: Side
    current: Side
    delta: Estimate | None
    p_regression: float | None
    stages: dict[str, Estimate]
    exemplars: tuple[Exemplar, ...]
    checks: dict[str, Any]
    notes: tuple[str, ...] = ()
    where: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    layers: dict[str, LayerLine] = field(default_factory=dict)
    workload: Estimate | None = None
    load: Estimate | None = None
    unexplained: Estimate | None = None
    stages_unexplained: Estimate | None = None
    slices: tuple[SliceLine, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    deciding: tuple[str, ...] = ()
    tail_accounting: dict[str, Estimate] = field(default_factory=dict)

    @property
    def by_size(self) -> list[tuple[str, Estimate]]:
        """Return the stages, largest change first, `outside` left out."""
        named = [(name, change) for name, change in self.stages.items() if name != OUTSIDE]
        return sorted(named, key=lambda item: -abs(item[1].value))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object, hash included."""
        body = self._body()
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return {**body, "hash": hashlib.sha256(text.encode()).hexdigest()}

    def _body(self) -> dict[str, Any]:
        outside = self.stages.get(OUTSIDE)
        stages = {name: change for name, change in self.stages.items() if name != OUTSIDE}
        return {
            "schema": SCHEMA,
            "verdict": self.verdict.word,
            "metric": self.metric.name,
            "quantile": self.level,
            "definition": self.metric.definition,
            "baseline": self.baseline.as_dict(),
            "current": self.current.as_dict(),
            "delta_ms": rounded(self.delta.value if self.delta else None),
            "delta_ci_ms": interval(self.delta),
            "p_regression": rounded(self.p_regression),
            "stages_are": STAGES_ARE,
            "stages": {
                name: {"ms": rounded(change.value), "ci_ms": interval(change)}
                for name, change in stages.items()
            },
            "layers": {},
            "workload_ms": None,
            "load_ms": None,
            "unexplained_ms": rounded(outside.value if outside else None),
            "slice": None,
            "evidence": [],
            "exemplars": [exemplar.trace_id for exemplar in self.exemplars],
            "tail_accounting_ms": {name: rounded(change.value) for name, change in stages.items()},
            "checks": {
                **self.checks,
                "where": self.where,
                "reason": self.verdict.reason,
                "notes": list(self.notes),
                "rule": RULE,
            },
            "seed": self.seed,
        }


def rounded(number: float | None) -> float | None:
    """Return a number for JSON, to nine decimals; null when it is unknown or without bound."""
    return None if number is None or not isfinite(number) else round(number, 9)


def interval(estimate: Estimate | None) -> list[float | None]:
    """Return both ends of a 95 % interval for JSON."""
    return [None, None] if estimate is None else [rounded(end) for end in estimate.interval()]
