"""What was firing before the service was started anew, read from the reports that it kept; and its end."""

from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.detection.incident import OPEN, OVER
from otel_attrib.analytics.filters import DIMENSIONS
from otel_attrib.analytics.statement import statement
from otel_attrib.schema.reports import ReportRow
from otel_attrib.schema.store import Store

__all__ = ["ended_row", "fetch_firing"]

STALE = timedelta(hours=2)
"""A row is written at least once an hour while an incident lasts; what is older than two is nobody's."""


def fetch_firing(store: Store) -> list[Alert]:
    """Return each alert whose last report says that it goes on, the oldest first."""
    since = (datetime.now(UTC) - STALE).replace(tzinfo=None)
    rows = store.rows(statement("alerts_firing"), {"since": since, "open": OPEN})
    return sorted((Alert.from_json(row["alert"]) for row in rows), key=lambda one: (one.starts, one.incident))


def ended_row(alert: Alert) -> ReportRow:
    """Return the row that says that an alert is over; without it the alert would be listed for `STALE`."""
    found, labels = alert.found or {}, alert.labels
    # The label `source` says that the alert is ours, not which requests it is about.
    named = (name for name in (*DIMENSIONS, "slo") if name in labels and name != "source")
    return ReportRow(
        time=alert.ends or datetime.now(UTC),
        incident=alert.incident,
        state=OVER,
        onset=alert.starts,
        service=alert.group[0],
        model=alert.group[1],
        metric=labels.get("metric") or found.get("metric", ""),
        quantile=found.get("quantile", 0.0),
        where={name: labels[name] for name in named} if "slo" in labels else {},
        verdict=alert.verdict,
        layer=next(iter(alert.blamed), ""),
        delta_ms=found.get("delta_ms"),
        report="",
        hash=found.get("hash", ""),
        alert=alert.as_json(),
    )
