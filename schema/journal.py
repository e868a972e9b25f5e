"""What was applied to a store, when, and with which layout: the table `schema_migrations`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from otel_attrib.errors import StoreSchema
from otel_attrib.schema.layout import Layout
from otel_attrib.schema.migration import Migration
from otel_attrib.schema.store import Store

__all__ = ["JOURNAL", "Entry", "last_layout", "note", "read"]

JOURNAL = Migration(
    0,
    "journal",
    """\
CREATE TABLE IF NOT EXISTS schema_migrations $on_cluster
(
    version UInt32,
    name String,
    checksum String,
    engine String,
    cluster String,
    ttl_days UInt32,
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = ${replicated}MergeTree
ORDER BY (version, applied_at);
""",
)
"""The table itself, and in it the entry that keeps a layout which has changed since."""

_NOTE = """\
INSERT INTO schema_migrations (version, name, checksum, engine, cluster, ttl_days)
SELECT {version:UInt32}, {name:String}, {checksum:String},
    {engine:String}, {cluster:String}, {ttl_days:UInt32}
"""
_READ = """\
SELECT * FROM schema_migrations ORDER BY applied_at, version
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    version: int
    name: str
    checksum: str
    layout: Layout
    applied_at: datetime


def read(store: Store) -> list[Entry]:
    """All entries, oldest first; none where the store is new."""
    try:
        return [_entry(row) for row in store.rows(_READ)]
    except StoreSchema:
        return []


def note(store: Store, migration: Migration, layout: Layout) -> None:
    """Write that `migration` was applied in `layout`."""
    values = {
        "version": migration.version,
        "name": migration.name,
        "checksum": migration.checksum,
        "engine": layout.engine,
        "cluster": layout.cluster,
        "ttl_days": layout.ttl_days,
    }
    store.command(_NOTE, values)


def last_layout(entries: Sequence[Entry]) -> Layout:
    """How the store is laid out now."""
    return entries[-1].layout if entries else Layout()


def _entry(row: Mapping[str, Any]) -> Entry:
    layout = Layout(row["engine"], row["cluster"], row["ttl_days"])
    return Entry(row["version"], row["name"], row["checksum"], layout, row["applied_at"])
