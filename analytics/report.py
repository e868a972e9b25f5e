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
from otel_attrib.analytics.golden import golden_formula
from otel_attrib.analytics.headline import sentence
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.analytics.metric import OUTSIDE, Metric
from otel_attrib.analytics.verdict import RULE, Verdict
from otel_attrib.analytics.windows import Window, rfc3339

__all__ = ["SCHEMA", "SUM_TOLERANCE_MS", "Exemplar", "Report", "Side"]

SCHEMA = "otel-attrib/why/1"
SUM_TOLERANCE_MS = 1e-6


@dataclass(frozen=True, slots=True)
class Side:
    """One window: its rows, and the quantile when there were any.

    `name` and `where` are those of a side of `diff`, which may be a selection of its own.
    """

    window: Window
    n: int
    ms: float | None
    name: str = ""
    where: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        body = {
            "from": rfc3339(self.window.start),
            "to": rfc3339(self.window.end),
            "n": self.n,
            "ms": rounded(self.ms),
        }
        return {**body, "name": self.name, "where": self.where} if self.name else body


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
    delta. `deciding` says what would decide the matter where the verdict abstains. `means` maps
    prompt_tokens, output_tokens (a request) and requests_per_s to the baseline's and the current mean.
    `matrix` is `matrix_of` the three metrics, where it was asked for.

    `checks` holds what the numbers rest on: sum_error_ms, telemetry_complete, n, rows_above, blocks,
    missing_stages, decomposition (which rows of each window), certificate, size_fit, new_workload, replay
    (its reason) with replay_r2 and replay_p99_error, slice_p, missing_sensors, coverage and more.
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
    means: dict[str, tuple[float, float]] = field(default_factory=dict)
    matrix: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse lines that do not add up to the change."""
        if self.delta is None:
            return
        for name, error in (("layers", self.layers_error_ms), ("stages", self.stages_error_ms)):
            if not error <= SUM_TOLERANCE_MS:
                raise AssertionError(f"{name} miss the change by {error} ms")

    @property
    def by_size(self) -> list[tuple[str, Estimate]]:
        """Return the stages, largest change first, `outside` left out."""
        named = [(name, change) for name, change in self.stages.items() if name != OUTSIDE]
        return sorted(named, key=lambda item: -abs(item[1].value))

    @property
    def rest(self) -> dict[str, float]:
        """Return the ms of the lines that are no layer, where they are known."""
        lines = (("workload", self.workload), ("load", self.load), ("unexplained", self.unexplained))
        return {name: line.value for name, line in lines if line is not None}

    @property
    def layers_error_ms(self) -> float:
        """Return how far layers, workload, load and unexplained miss the change (0 without layers)."""
        return self._error(sum(line.ms for line in self.layers.values()), self.rest) if self.layers else 0.0

    @property
    def stages_error_ms(self) -> float:
        """Return how far stages, workload, load and what they leave miss the change (0 without stages)."""
        if not self.stages or self.stages_unexplained is None:
            return 0.0
        rest = {**self.rest, "unexplained": self.stages_unexplained.value}
        return self._error(sum(change.value for change in self.stages.values()), rest)

    def _error(self, lines: float, rest: dict[str, float]) -> float:
        return abs(lines + sum(rest.values()) - self.delta.value) if self.delta else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object, hash included."""
        body = self._body()
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return {**body, "hash": hashlib.sha256(text.encode()).hexdigest()}

    def _body(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "verdict": self.verdict.word,
            "headline": sentence(self),
            "metric": self.metric.name,
            "quantile": self.level,
            "definition": self.metric.definition,
            "baseline": self.baseline.as_dict(),
            "current": self.current.as_dict(),
            "delta_ms": rounded(self.delta.value if self.delta else None),
            "delta_ci_ms": interval(self.delta),
            "p_regression": rounded(self.p_regression),
            "stages": {name: _estimate(change) for name, change in self.stages.items()},
            "layers": {name: _layer(line) for name, line in self.layers.items()},
            "workload_ms": _value(self.workload),
            "load_ms": _value(self.load),
            "unexplained_ms": _value(self.unexplained),
            "slice": self.slices[0].as_dict() if self.slices else None,
            "evidence": [evidence.as_dict() for evidence in self.evidence],
            "exemplars": [exemplar.trace_id for exemplar in self.exemplars],
            "tail_accounting_ms": {name: _value(change) for name, change in self.tail_accounting.items()},
            "deciding": list(self.deciding),
            "golden_ms": {n: rounded(ms) for n, ms in golden_formula(self.layers, self.rest).items()},
            "matrix": self.matrix,
            "checks": self._checks(),
            "seed": self.seed,
        }

    def _checks(self) -> dict[str, Any]:
        return {
            **self.checks,
            "stages_unexplained_ms": _value(self.stages_unexplained),
            "means": {
                name: {"baseline": rounded(old), "current": rounded(new)}
                for name, (old, new) in self.means.items()
            },
            "more_slices": [found.as_dict() for found in self.slices[1:]],
            "where": self.where,
            "reason": self.verdict.reason,
            "notes": list(self.notes),
            "rule": RULE,
        }


def rounded(number: float | None) -> float | None:
    """Return a number for JSON, to nine decimals; null when it is unknown or without bound."""
    return None if number is None or not isfinite(number) else round(number, 9)


def interval(estimate: Estimate | None) -> list[float | None]:
    """Return both ends of a 95 % interval for JSON."""
    return [None, None] if estimate is None else [rounded(end) for end in estimate.interval()]


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else rounded(estimate.value)


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"ms": rounded(estimate.value), "ci_ms": interval(estimate)}


def _layer(line: LayerLine) -> dict[str, Any]:
    body: dict[str, Any] = {
        "ms": rounded(line.ms),
        "share": rounded(line.share),
        "p": rounded(line.p),
        "ci_ms": [rounded(end) for end in line.ci],
    }
    return {**body, "of_it": {part: rounded(ms) for part, ms in line.parts.items()}} if line.parts else body
