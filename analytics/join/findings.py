"""What the join says of one request, as plain rows: one for each stage, counter and place that is known."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from otel_attrib.analytics.join.controls import Control
from otel_attrib.analytics.join.stretches import Stretch
from otel_attrib.schema.counters import Counter

__all__ = ["Finding", "RequestEvidence"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One counter in one stage at one place.

    `value` is a total's increase or a gauge's mean, `low` and `high` what it lies between (None: no bound).
    `before` and `beside` are the controls, `z` the deviation on which they agree. `clock_us` is how far the
    place's clock may be from the request's.
    """

    stage: str
    counter: Counter
    node: str
    device: str
    value: float
    low: float | None
    high: float | None
    coverage: float
    clock_us: float
    series: int
    before: Control | None = None
    beside: Control | None = None
    z: float | None = None

    @property
    def badness(self) -> float:
        """Return the deviation for the worse: towards the counter's bad side; 0 where it has none."""
        z = self.z or 0.0
        return z * self.counter.bad if self.counter.bad else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        said = asdict(self)
        counter = said.pop("counter")
        told = {name: counter[name] for name in ("metric", "unit", "kind", "layer", "meaning")}
        return {"stage": said.pop("stage"), "counter": self.counter.key, **told, **said}


@dataclass(frozen=True)
class RequestEvidence:
    """Everything known of one request's cards and hosts, the biggest deviation first.

    `devices` are the places read, `named` whether they are those that the request names (else all of its
    node stand for them). `missing` maps a layer to the counters of which none was read, `clocks` each node to
    what its clock's distance from the request's rests on. `unplaced` are nodes of which no clock is known,
    `too_short` has by node the stages that are shorter than the clocks allow to place. `earlier` requests
    and `engines` were the controls.
    """

    node: str
    devices: tuple[str, ...]
    named: bool
    stretches: tuple[Stretch, ...]
    findings: tuple[Finding, ...]
    missing: Mapping[str, tuple[str, ...]]
    clocks: Mapping[str, str]
    unplaced: tuple[str, ...]
    too_short: Mapping[str, tuple[str, ...]]
    earlier: int
    engines: int
    samples: int

    def of(self, stage: str) -> tuple[Finding, ...]:
        """Return the findings of one stage in their order."""
        return tuple(finding for finding in self.findings if finding.stage == stage)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        plain = {
            name: getattr(self, name)
            for name in (
                *("node", "devices", "named", "missing", "clocks", "unplaced", "too_short"),
                *("earlier", "engines"),
            )
        }
        return plain | {
            "samples": self.samples,
            "stretches": [asdict(stretch) for stretch in self.stretches],
            "findings": [finding.as_dict() for finding in self.findings],
        }
