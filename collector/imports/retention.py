"""Whether the store keeps rows as old as the imported ones."""

from datetime import UTC, datetime, timedelta

from otel_attrib.schema.store import Store

__all__ = ["expiry_note"]

_KEPT = "SELECT argMax(ttl_days, applied_at) AS days FROM schema_migrations"


def expiry_note(store: Store, first_ns: int | None, now: datetime | None = None) -> str | None:
    """What to say when rows as old as `first_ns` outlive the store's time to live; None when they do not."""
    days = store.rows(_KEPT)[0]["days"]
    if not days or first_ns is None:
        return None
    oldest = datetime.fromtimestamp(first_ns / 1e9, UTC)
    if oldest > (now or datetime.now(UTC)) - timedelta(days=days):
        return None
    return (
        f"this store keeps rows for {days} days and removes older ones at once; the oldest here is of "
        f"{oldest:%Y-%m-%d}: otel-attrib migrate --ttl-days 0 keeps them, then import again"
    )
