"""Every alert there is: its name, how urgent it is, what it means, and who raises it.

docs/alerts.md and docs/runbooks/ are held to this table by tests.
"""

from dataclasses import dataclass

__all__ = [
    "BURNS",
    "GRAFANA",
    "KINDS",
    "LATENCY_REGRESSION",
    "NATIVE",
    "PROMETHEUS",
    "SLO_BURN_PAGE",
    "SLO_BURN_TICKET",
    "TEST",
    "Kind",
]

NATIVE, PROMETHEUS, GRAFANA = "native", "prometheus", "grafana"


@dataclass(frozen=True, slots=True)
class Kind:
    """One alert; `by` are those who raise it: the service itself, Prometheus rules, Grafana rules."""

    name: str
    severity: str
    meaning: str
    by: tuple[str, ...]


LATENCY_REGRESSION = "LatencyRegression"
SLO_BURN_PAGE, SLO_BURN_TICKET = "SloBurnPage", "SloBurnTicket"
BURNS = {"page": SLO_BURN_PAGE, "ticket": SLO_BURN_TICKET}
"""Severity of a pair of windows → the alert that it raises."""
TEST = "OtelAttribTest"

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            LATENCY_REGRESSION,
            "ticket",
            "The tail of a latency became slower than it was, more than chance and the hour explain.",
            (NATIVE, PROMETHEUS, GRAFANA),
        ),
        Kind(
            SLO_BURN_PAGE,
            "page",
            "An objective's error budget is going so fast that somebody has to act now.",
            (NATIVE, PROMETHEUS, GRAFANA),
        ),
        Kind(
            SLO_BURN_TICKET,
            "ticket",
            "An objective's error budget is going faster than it can last, over hours or days.",
            (NATIVE, PROMETHEUS, GRAFANA),
        ),
        Kind("OtelAttribDown", "page", "No service of otel-attrib is scraped any more.", (PROMETHEUS,)),
        Kind("OtelAttribStoreDown", "page", "The service cannot reach its store.", (PROMETHEUS,)),
        Kind(
            "OtelAttribSpoolFilling",
            "page",
            "What waits for the store fills its disk space; when it is full, telemetry is refused.",
            (PROMETHEUS,),
        ),
        Kind(
            "OtelAttribDataLost",
            "ticket",
            "The store refused telemetry, or some was set aside and could not be kept.",
            (PROMETHEUS,),
        ),
        Kind(
            "OtelAttribNotEvaluating",
            "page",
            "The service has stopped looking for incidents: its silence means nothing.",
            (PROMETHEUS,),
        ),
        Kind(
            "OtelAttribNotificationsFailing",
            "page",
            "An Alertmanager or a webhook does not take what it is told.",
            (PROMETHEUS,),
        ),
        Kind(TEST, "none", "Somebody tries whether alerts arrive; nothing is wrong.", (NATIVE,)),
    )
}
"""By name."""
