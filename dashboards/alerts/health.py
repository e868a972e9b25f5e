"""Rules about otel-attrib itself: an alerting that has died looks like a service that is well."""

from collections.abc import Iterator
from typing import Any

from otel_attrib.analytics.alerting.kinds import KINDS
from otel_attrib.analytics.alerting.links import Links

__all__ = ["health_rules"]

RULES = {
    "OtelAttribDown": (
        "absent(otel_attrib_store_up)",
        "5m",
        "no service of otel-attrib is scraped: whether anything is slow is not known",
    ),
    "OtelAttribStoreDown": (
        "min by (instance) (otel_attrib_store_up) == 0",
        "3m",
        "{{ $labels.instance }} cannot reach its store: no answers, and telemetry waits in the spool",
    ),
    "OtelAttribSpoolFilling": (
        "max by (instance) (otel_attrib_spool_bytes / otel_attrib_spool_limit_bytes) > 0.5",
        "5m",
        "{{ $labels.instance }}: the spool is {{ $value | humanizePercentage }} full",
    ),
    "OtelAttribDataLost": (
        "sum by (instance) (increase(otel_attrib_quarantined_items_total[15m]))"
        " + sum by (instance) (increase(otel_attrib_lost_requests_total[15m])) > 0",
        "",
        "{{ $labels.instance }}: {{ $value | humanize }} items were not stored in 15 minutes",
    ),
    "OtelAttribNotEvaluating": (
        "time() - max by (instance) (otel_attrib_alert_last_look_timestamp_seconds > 0) > 120",
        "3m",
        "{{ $labels.instance }} has not looked for incidents for {{ $value | humanizeDuration }}",
    ),
    "OtelAttribNotificationsFailing": (
        "max by (instance, target) (otel_attrib_alert_notifications_waiting) > 0",
        "5m",
        "{{ $labels.instance }} cannot tell {{ $labels.target }}: {{ $value }} notifications wait",
    ),
}
"""Alert → expression, for how long, summary. Spool: half of 4 GiB is the time to act, not the end."""


def health_rules(links: Links) -> Iterator[dict[str, Any]]:
    """Yield the alerting rules."""
    for name, (expr, lasting, summary) in RULES.items():
        words = {
            "summary": summary,
            "description": KINDS[name].meaning,
            "runbook_url": links.runbook(name),
        }
        yield {
            "alert": name,
            "expr": expr,
            **({"for": lasting} if lasting else {}),
            "labels": {"severity": KINDS[name].severity, "source": "prometheus"},
            "annotations": {key: text for key, text in words.items() if text},
        }
