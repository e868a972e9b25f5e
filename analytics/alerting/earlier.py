"""What was firing before the service was started anew: read from the reports that it kept."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.detection.incident import OPEN
from otel_attrib.analytics.statement import statement
from otel_attrib.schema.store import Store

__all__ = ["fetch_firing"]

STALE = timedelta(hours=2)
"""A row is written at least once an hour while an incident lasts; what is older than two is nobody's."""


def fetch_firing(
    store: Store, now: Callable[[], datetime] = lambda: datetime.now(UTC), stale: timedelta = STALE
) -> list[tuple[Alert, Mapping[str, Any]]]:
    """Return each alert whose last report says that it goes on, with that report's row, the oldest first."""
    since = (now() - stale).astimezone(UTC).replace(tzinfo=None)
    rows = store.rows(statement("alerts_firing"), {"since": since, "open": OPEN})
    return [(Alert.from_json(row["alert"]), row) for row in rows]
