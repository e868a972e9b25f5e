"""The service's way to its store, which may be down when it is a ClickHouse server.

The embedded store is opened and migrated at once. A server is looked for at once, so that missing
tables are told; when it is down the service starts all the same, and requests wait in the spool.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from urllib.parse import urlsplit

from otel_attrib.collector.clickhouse_http import ClickHouseHttp
from otel_attrib.collector.counters import Counters
from otel_attrib.collector.query_engine import QueryEngine
from otel_attrib.collector.writer import Insert
from otel_attrib.config import Settings
from otel_attrib.errors import StoreError, StoreSchema
from otel_attrib.schema.dsn import Dsn
from otel_attrib.schema.ingest import insert_logs, insert_metrics, insert_traces
from otel_attrib.schema.migrate import check_schema, migrate
from otel_attrib.schema.store import Store, open_store

__all__ = ["StoreLink"]

_log = logging.getLogger(__name__)
_INSERTS: Mapping[str, Callable[[Store, Sequence[bytes], str], None]] = {
    "traces": insert_traces,
    "metrics": insert_metrics,
    "logs": insert_logs,
}


class StoreLink:
    """Opens the store when it can be, once."""

    def __init__(self, dsn: Dsn) -> None:
        """Open it now if possible; an embedded one must be."""
        self.dsn = dsn
        self._lock = Lock()
        self._store: Store | None = None
        try:
            self.store()
        except StoreSchema:
            raise
        except StoreError as fault:
            if dsn.embedded:
                raise
            _log.warning("%s: requests wait in the spool", fault)

    @property
    def address(self) -> str:
        """Where a server speaks HTTP, without user and password."""
        if self.dsn.embedded:
            return ""
        parts = urlsplit(self.dsn.text)
        secure = parts.scheme in ("clickhouses", "https") or self.dsn.options.get("secure") in ("1", "true")
        port = parts.port or (8443 if secure else 8123)
        return f"http{'s' if secure else ''}://{parts.hostname}:{port}"

    def store(self) -> Store:
        """The open store; `StoreError` while it cannot be reached."""
        with self._lock:
            if self._store is None:
                self._store = self._opened()
            return self._store

    def inserts(self) -> dict[str, Insert]:
        """One function a signal, for the writer."""
        return {name: self._insert(insert) for name, insert in _INSERTS.items()}

    def clickhouse(self, settings: Settings, counters: Counters) -> ClickHouseHttp:
        """The ClickHouse port's application over the embedded store."""
        engine = QueryEngine(
            str(self.dsn.path), self.dsn.database, settings.query_seconds, settings.query_memory
        )
        return ClickHouseHttp(
            engine, counters, settings.clickhouse_password, settings.query_threads, settings.query_seconds
        )

    def trouble(self) -> str:
        """Why the store does not answer, or nothing."""
        try:
            self.store().rows("SELECT 1")
        except StoreError as fault:
            return str(fault)
        return ""

    def close(self) -> None:
        """Close what was opened."""
        if self._store is not None:
            self._store.close()

    def _opened(self) -> Store:
        store = open_store(self.dsn.text)
        try:
            self._prepare(store)
        except BaseException:
            store.close()
            raise
        return store

    def _prepare(self, store: Store) -> None:
        if self.dsn.embedded:
            for step in migrate(store):
                _log.info("applied migration %04d_%s", step.version, step.name)
        else:
            check_schema(store)

    def _insert(self, insert: Callable[[Store, Sequence[bytes], str], None]) -> Insert:
        return lambda requests, token: insert(self.store(), requests, token)
