"""What fires now and what is silenced, as `otel-attrib alerts` and the API answer it.

It is read from the reports that evaluators keep, so it is the same in `up`, in `serve` beside it, and for the
command. Somebody who may see some tenants alone sees the alerts and silences that name one of these.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.restore import fetch_firing
from otel_attrib.analytics.alerting.silences import Silence, fetch_silences, silenced
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_alerts", "sees"]

SCHEMA = "otel-attrib/alerts/1"


def ask_alerts(store: Store, tenants: Sequence[str] = ()) -> dict[str, Any]:
    """Return the firing alerts, the oldest first, and the silences that are pending or active."""
    now = datetime.now(UTC)
    silences = fetch_silences(store, now)
    alerts = [_for(alert, tenants) for alert in fetch_firing(store) if _is_of(alert, tenants)]
    return {
        "schema": SCHEMA,
        "items": [_item(alert, silences, now) for alert in alerts],
        "silences": [one.as_dict(now) for one in silences if sees(one, tenants)],
    }


def _item(alert: Alert, silences: Sequence[Silence], now: datetime) -> dict[str, Any]:
    return {**alert.as_dict(), "silenced_by": silenced(alert.labels, silences, now) or None}


def _for(alert: Alert, tenants: Sequence[str]) -> Alert:
    """Return it for somebody of some tenants: the alerts that may be related can be of others."""
    kept = {name: word for name, word in alert.annotations.items() if not tenants or name != "related"}
    return replace(alert, annotations=kept)


def _is_of(alert: Alert, tenants: Sequence[str]) -> bool:
    return not tenants or alert.labels.get("tenant", "") in tenants


def sees(silence: Silence, tenants: Sequence[str]) -> bool:
    """Whether a silence is about one of these tenants alone."""
    own = [m.value for m in silence.matchers if m.label == "tenant" and m.operator == "="]
    return not tenants or any(value in tenants for value in own)
