"""A rule about a budget that burns, as far as Prometheus and Grafana have it alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.analytics.alerting.kinds import BURNS
from otel_attrib.analytics.objectives import BurnPair, Objective
from otel_attrib.analytics.windows import duration_text
from otel_attrib.dashboards.alerts.template import as_said

__all__ = ["BurnRule", "burn_rules"]


@dataclass(frozen=True, slots=True)
class BurnRule:
    """The pairs of windows of one objective that raise an alert of one severity; texts are templates."""

    objective: Objective
    severity: str
    pairs: Sequence[BurnPair]

    @property
    def name(self) -> str:
        """Return which alert it raises."""
        return BURNS[self.severity]

    @property
    def title(self) -> str:
        """Return what people call the objective."""
        return as_said(self.objective.title or self.objective.name)

    @property
    def windows(self) -> str:
        """Return the pairs in words."""
        return "; ".join(
            f"{pair.factor:g} × over {duration_text(pair.long)} and {duration_text(pair.short)}"
            for pair in self.pairs
        )

    def labels(self, source: str) -> dict[str, str]:
        """Return the labels of its alerts, which `source` evaluates: what it is about has one value each."""
        allowed = self.objective.where.allowed
        about = {name: as_said(values[0]) for name, values in allowed if len(values) == 1}
        return {**about, "severity": self.severity, "slo": self.objective.name, "source": source}


def burn_rules(objective: Objective) -> list[BurnRule]:
    """Return the rules of an objective, the most urgent first; none for a severity without windows."""
    found = {severity: [p for p in objective.pairs() if p.severity == severity] for severity in BURNS}
    return [BurnRule(objective, severity, pairs) for severity, pairs in found.items() if pairs]
