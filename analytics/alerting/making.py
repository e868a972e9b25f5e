"""Alerts out of what was seen: a slower tail with its report, a budget that burns with its report."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.found import Found, cut, listed, words_of
from otel_attrib.analytics.alerting.kinds import BURNS, KINDS, LATENCY_REGRESSION, TEST
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.objectives import BurnPair, Objective
from otel_attrib.analytics.windows import duration_text
from otel_attrib.analytics.wording import digits

__all__ = ["Burn", "Maker", "burn_incident"]

OURS = "otel-attrib"
DESCRIPTION = 2000
"""Characters of the annotation that holds all of it."""


@dataclass(frozen=True, slots=True)
class Burn:
    """A pair of windows that both burn faster than the pair's factor; rates are multiples of the budget."""

    pair: BurnPair
    short: float
    long: float

    def __str__(self) -> str:
        """Write it as people say it: `21 × in 1h, 30 × in 5m (14.4 × alerts)`."""
        long, short = duration_text(self.pair.long), duration_text(self.pair.short)
        seen = f"{digits(self.long)} × in {long}, {digits(self.short)} × in {short}"
        return f"{seen} ({digits(self.pair.factor)} × alerts)"


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes alerts with the labels and links of a site."""

    links: Links
    severity: str = KINDS[LATENCY_REGRESSION].severity
    labels: Mapping[str, str] = field(default_factory=dict)

    def regression(
        self, incident: str, series: tuple[str, str], metric: str, found: Found, starts: datetime
    ) -> Alert:
        """Return the alert of a slower tail; `found` is `found_in` its report."""
        service, model = series
        labels = {"service": service, "model": model, "metric": metric}
        about = " ".join(word for word in series if word)
        summary = f"{about}: {found['headline']}" if about else found["headline"]
        return self._alert(LATENCY_REGRESSION, self.severity, incident, labels, summary, found, starts)

    def burn(
        self, objective: Objective, burns: Sequence[Burn], found: Found | None, starts: datetime
    ) -> Alert:
        """Return the alert of a budget that burns; `burns` are all of one severity, the quickest first."""
        severity = burns[0].pair.severity
        chosen = {dimension: values[0] for dimension, values in objective.where.allowed if len(values) == 1}
        why = f"; {found['headline']}" if found else ""
        summary = f"{objective.title or objective.name} burns its budget: {burns[0]}{why}"
        alert = self._alert(
            BURNS[severity],
            severity,
            burn_incident(objective.name, severity, starts),
            {**chosen, "slo": objective.name},
            summary,
            found,
            starts,
        )
        more = {"burn": listed(list(map(str, burns))), "objective_url": self.links.objective(objective.name)}
        return replace(alert, annotations={**alert.annotations, **_told(more)})

    def beside(self, alert: Alert, others: Sequence[Alert]) -> Alert:
        """Return it with the alerts that may tell of the same trouble."""
        related = listed(list(map(self._named, others)))
        return replace(alert, annotations={**alert.annotations, **_told({"related": related})})

    def _named(self, alert: Alert) -> str:
        about = alert.labels.get("slo") or alert.labels.get("metric", "")
        return f"{alert.name} {about}: {self.links.report(alert.incident) or alert.incident}"

    def test(self, starts: datetime) -> Alert:
        """Return the alert that says of itself that nothing is wrong."""
        incident = f"test-{int(starts.timestamp())}"
        summary = "This is a test of otel-attrib's alerts: nothing is wrong, and nothing needs to be done."
        return self._alert(TEST, KINDS[TEST].severity, incident, {}, summary, None, starts)

    def _alert(
        self,
        name: str,
        severity: str,
        incident: str,
        labels: Mapping[str, str],
        summary: str,
        found: Found | None,
        starts: datetime,
    ) -> Alert:
        fixed = {"alertname": name, "severity": severity, "incident": incident, "source": OURS}
        words = {"summary": cut(summary), **(words_of(found) if found else {})}
        service, model = labels.get("service", ""), labels.get("model", "")
        places = {
            "report_url": self.links.report(incident) if found else "",
            "trace_url": self.links.trace(next(iter(found["exemplars"]), "")) if found else "",
            "runbook_url": self.links.runbook(name),
            "dashboard_url": self.links.board(service, model, int(1000 * starts.timestamp())),
        }
        return Alert(
            incident,
            _told({**self.labels, **labels, **fixed}),
            {**words, "description": cut(_description(words), DESCRIPTION), **_told(places)},
            starts,
            found=found,
        )


def burn_incident(name: str, severity: str, starts: datetime) -> str:
    """Return the name that all notifications of one burn share."""
    text = "\0".join((name, severity, repr(starts.timestamp())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _told(words: Mapping[str, str]) -> dict[str, str]:
    return {name: word for name, word in words.items() if word}


TITLES = {
    "verdict": "",
    "layers": "Layers: ",
    "who": "Hit: ",
    "evidence_for": "For:\n",
    "evidence_against": "Against:\n",
    "would_decide": "Would decide it:\n",
}


def _description(words: Mapping[str, str]) -> str:
    """Return all of it as one text, for templates that show no other annotation."""
    lines = [words["summary"], *(f"{title}{words[name]}" for name, title in TITLES.items() if name in words)]
    return "\n".join(lines)
