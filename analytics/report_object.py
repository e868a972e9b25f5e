"""The listing of reports from a user's words to JSON: the same for the command and for the service."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.report_list import incident_reports, list_reports, since_window
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_incident", "ask_reports"]

SCHEMA = "otel-attrib/reports/1"


def ask_reports(
    store: Store,
    since: str,
    service: str,
    incident: str,
    state: str,
    tenants: Sequence[str],
    limit: int,
    cursor: str | None,
) -> dict[str, Any]:
    """Ask `store`, and return what `otel-attrib reports --json` prints."""
    page = list_reports(store, since_window(since), service, incident, state, tenants, limit, cursor)
    return {"schema": SCHEMA, "items": [row.as_dict() for row in page.items], "next": page.next}


def ask_incident(store: Store, incident: str, tenants: Sequence[str]) -> dict[str, Any]:
    """Ask `store`, and return what `otel-attrib reports INCIDENT --json` prints: bodies included."""
    rows = incident_reports(store, incident, tenants)
    return {"schema": SCHEMA, "incident": incident, "items": [row.as_dict() for row in rows], "next": None}
