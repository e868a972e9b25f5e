"""One ClickHouse database behind one class: embedded (chDB) or remote, through clickhouse-connect.

A client runs one statement at a time, so each thread that asks gets one of its own from a pool:
N threads run N statements in parallel. chDB admits one process per path and one path per process;
the first is told as `StoreBusy` with the process that holds it.
"""

import argparse
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from otel_attrib.errors import StoreError, StoreSchema, UsageError
from otel_attrib.schema.dsn import MEMORY, Dsn, default_dsn, parse_dsn
from otel_attrib.schema.engine import check_installed, client_factory
from otel_attrib.schema.service import DEFAULT_URL, store_address
from otel_attrib.schema.store_errors import told, without_tables

if TYPE_CHECKING:
    import pyarrow
    from clickhouse_connect.driver.client import Client

__all__ = ["Parameters", "Settings", "Store", "add_store_arguments", "chosen", "connect", "open_store"]

_HAS_TABLES = """
SELECT 1 FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'
"""

Parameters = Mapping[str, Any] | None
Settings = Mapping[str, Any] | None


class Store:
    """One database; safe to share between threads."""

    def __init__(self, dsn: Dsn, client: Callable[[], "Client"]) -> None:
        """Keep the address and a way to make one client."""
        self.dsn = dsn
        self.database = dsn.database
        self.embedded = dsn.embedded
        self._make = client
        self._idle: list[Client] = []
        self._all: list[Client] = []
        self._lock = threading.Lock()
        self._closed = False

    def rows(
        self, sql: str, parameters: Parameters = None, settings: Settings = None
    ) -> list[dict[str, Any]]:
        """The result as one dict a row; times are aware, in UTC."""
        with self._client() as client:
            result = client.query(sql, parameters=_dict(parameters), settings=_dict(settings))
            return [dict(row) for row in result.named_results()]

    def arrow(self, sql: str, parameters: Parameters = None, settings: Settings = None) -> "pyarrow.Table":
        """The result as an Arrow table, strings as strings."""
        if settings and self.embedded:
            # The client would set them on its session, and back, with five statements around this one.
            sql, settings = f"{sql.rstrip().rstrip(';')}\n{_clause(settings)}", None
        with self._client() as client:
            return client.query_arrow(
                sql, parameters=_dict(parameters), settings=_dict(settings), use_strings=True
            )

    def raw(self, sql: str, fmt: str, parameters: Parameters = None, settings: Settings = None) -> bytes:
        """The result as the bytes of any output format."""
        with self._client() as client:
            return client.raw_query(
                sql.rstrip().rstrip(";"), parameters=_dict(parameters), settings=_dict(settings), fmt=fmt
            )

    def command(self, sql: str, parameters: Parameters = None, settings: Settings = None) -> None:
        """Run a statement that has no result."""
        with self._client() as client:
            client.command(sql, parameters=_dict(parameters), settings=_dict(settings))

    def create_database(self, on_cluster: str = "") -> None:
        """Make the store's database where there is none."""
        with self._client() as client:
            client.command(
                f"CREATE DATABASE IF NOT EXISTS `{self.database}` {on_cluster}", use_database=False
            )

    def insert_raw(
        self, table: str, columns: Sequence[str], body: bytes, fmt: str, settings: Settings = None
    ) -> None:
        """Insert bytes that are already in one of ClickHouse's input formats; visible when it returns."""
        with self._client() as client:
            client.raw_insert(
                table, list(columns), body, settings={"async_insert": 0, **(settings or {})}, fmt=fmt
            )

    def insert_arrow(self, table: str, data: "pyarrow.Table") -> None:
        """Insert an Arrow table whose columns carry the table's names; visible when it returns."""
        with self._client() as client:
            client.insert_arrow(table, data, settings={"async_insert": 0})

    def new_client(self) -> "Client":
        """One more client of this database, outside the pool: whoever asks for it closes it."""
        return self._make()

    def close(self) -> None:
        """Close every client; the last one gives the embedded path free."""
        with self._lock:
            self._closed = True
            clients, self._all, self._idle = self._all, [], []
        for client in clients:
            client.close()

    def __enter__(self) -> "Store":
        """Return the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @contextmanager
    def _client(self) -> Iterator["Client"]:
        with told(self.dsn):
            client = self._take()
            try:
                yield client
            finally:
                with self._lock:
                    if not self._closed:
                        self._idle.append(client)

    def _take(self) -> "Client":
        with self._lock:
            if self._closed:
                raise StoreError(f"store {self.dsn.shown} is closed")
            if self._idle:
                return self._idle.pop()
        client = self._make()
        with self._lock:
            self._all.append(client)
        return client


def _clause(settings: Mapping[str, Any]) -> str:
    return "SETTINGS " + ", ".join(f"{name} = {value!r}" for name, value in settings.items())


def _dict(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return dict(values) if values else None


def open_store(dsn: str) -> Store:
    """Open the store at `dsn`, creating an embedded one; its tables are `migrate`'s work.

    Raises `StoreBusy` when another process holds the embedded path.
    """
    where = parse_dsn(dsn)
    store = Store(where, client_factory(where))
    with store._client():  # the first client says at once whether the store can be reached
        pass
    return store


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--dsn` and `--url`, of which one may be given."""
    group = parser.add_argument_group("store")
    group.add_argument(
        "--dsn",
        metavar="DSN",
        help="store: chdb:///path, chdb://memory or clickhouse://user:pw@host:port/db (OTEL_ATTRIB_DSN)",
    )
    group.add_argument(
        "--url",
        metavar="URL",
        help=f"running service, such as {DEFAULT_URL}, whose store is asked (OTEL_ATTRIB_URL)",
    )


def chosen(dsn: str | None, url: str | None) -> tuple[str | None, str | None]:
    """The DSN, or else the service, that a command's two options name; one of both is set.

    Without them: what the environment names, the service on its default port, the default store.
    """
    if dsn and url:
        raise UsageError("give --dsn or --url, not both")
    if not dsn and not url:
        dsn, url = os.environ.get("OTEL_ATTRIB_DSN"), os.environ.get("OTEL_ATTRIB_URL")
    if dsn:
        return dsn, None
    if url:
        return None, url
    try:
        store_address(DEFAULT_URL, timeout_s=1.0)
    except StoreError:
        return default_dsn(), None
    return None, DEFAULT_URL


def connect(dsn: str | None, url: str | None, create: bool = False) -> Store:
    """Open the store that `chosen` names, over the service's ClickHouse port if it is a service.

    An embedded store that is not there, or has no tables, is refused, unless it may be made (`create`).
    """
    named, service = chosen(dsn, url)
    if named is None:
        return open_store(store_address(str(service)))
    return open_store(named) if create else _open_made(named)


def _open_made(dsn: str) -> Store:
    where = parse_dsn(dsn)
    if where.path in (None, MEMORY):
        return open_store(dsn)
    if not _is_made(str(where.path)):
        check_installed()
        raise StoreError(
            f"no store is at {where.path}: `otel-attrib migrate --dsn {where.shown}` makes one, "
            "or `otel-attrib up`, which also fills it"
        )
    store = open_store(dsn)
    if not store.rows(_HAS_TABLES, {"database": store.database}):
        store.close()
        raise StoreSchema(without_tables(where))
    return store


def _is_made(path: str) -> bool:
    try:
        return bool(os.listdir(path))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # there is something: opening it says what is wrong with it
