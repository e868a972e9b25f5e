"""Where an alert leads: to its report on our page, a request, its runbook, Grafana."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from otel_attrib.config import Settings

__all__ = ["Links"]


@dataclass(frozen=True, slots=True)
class Links:
    """Base addresses without a slash at the end; an empty one gives no link."""

    page: str
    runbooks: str
    grafana: str = ""

    @classmethod
    def of(cls, settings: Settings, address: str) -> "Links":
        """Return them as set; the page is at `address` unless people reach it elsewhere."""
        page = (settings.alert_external_url or address).rstrip("/")
        runbooks = settings.alert_runbooks_url.rstrip("/") or (f"{page}/runbooks" if page else "")
        return cls(page, runbooks, settings.alert_grafana_url.rstrip("/"))

    def report(self, incident: str) -> str:
        """Return the page of an incident's report."""
        return f"{self.page}/#/reports/{quote(incident, safe='')}" if self.page else ""

    def trace(self, trace_id: str) -> str:
        """Return the page of one request."""
        return f"{self.page}/#/trace/{quote(trace_id, safe='')}" if self.page and trace_id else ""

    def objective(self, name: str) -> str:
        """Return the page of one objective."""
        return f"{self.page}/#/slo/{quote(name, safe='')}" if self.page and name else ""

    def runbook(self, alert: str) -> str:
        """Return the runbook of an alert."""
        return f"{self.runbooks}/{alert}.md" if self.runbooks else ""

    def board(self, service: str, model: str, from_ms: int) -> str:
        """Return the fleet's dashboard in Grafana for one service and model, from a time on."""
        if not self.grafana:
            return ""
        chosen = {"var-service": service, "var-model": model, "from": str(from_ms), "to": "now"}
        return f"{self.grafana}/d/otel-attrib-fleet?{urlencode({k: v for k, v in chosen.items() if v})}"
