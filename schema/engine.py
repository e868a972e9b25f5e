"""Clients of one store: how each kind of address is opened.

The embedded engine always works in UTC, and its caches, sized for large servers by
default, are held to what one small process can spare.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from otel_attrib.errors import MissingExtra, StoreError
from otel_attrib.schema.dsn import MEMORY, Dsn
from otel_attrib.schema.store_errors import busy, told

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

__all__ = ["check_installed", "client_factory"]

_MIB = 1 << 20
# Names are the engine's; a DSN's own options win over these.
_ENGINE: dict[str, Any] = {
    "mark_cache_size": 64 * _MIB,
    "index_mark_cache_size": 16 * _MIB,
    "primary_index_cache_size": 64 * _MIB,
    "query_condition_cache_size": 16 * _MIB,
    "vector_similarity_index_cache_size": _MIB,
    "text_index_tokens_cache_size": _MIB,
    "text_index_header_cache_size": _MIB,
    "text_index_postings_cache_size": _MIB,
    "compiled_expression_cache_size": 16 * _MIB,
    "max_memory_usage": 768 * _MIB,
    "max_bytes_before_external_group_by": 256 * _MIB,
    "max_bytes_before_external_sort": 256 * _MIB,
}


def client_factory(dsn: Dsn) -> Callable[[], "Client"]:
    """A function that makes one more client of the store at `dsn`; an embedded one is opened here."""
    return _embedded(dsn) if dsn.embedded else _remote(dsn)


def check_installed() -> None:
    """Raise `MissingExtra` where the embedded engine is not installed: no advice on stores helps there."""
    _get_client(embedded=True)


def _remote(dsn: Dsn) -> Callable[[], "Client"]:
    get_client = _get_client()
    parts = urlsplit(dsn.text)
    secure = parts.scheme in ("clickhouses", "https") or dsn.options.get("secure", "") in ("1", "true")
    target: dict[str, Any] = {
        "host": parts.hostname,
        "port": parts.port or (8443 if secure else 8123),
        "username": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password or ""),
        "secure": secure,
        "generic_args": {key: value for key, value in dsn.options.items() if key != "secure"},
    }

    def make() -> "Client":
        # `system` always exists; ours may be about to be created.
        client = get_client(database="system", tz_mode="aware", autogenerate_session_id=False, **target)
        client.database = dsn.database
        return client

    return make


def _embedded(dsn: Dsn) -> Callable[[], "Client"]:
    get_client = _get_client(embedded=True)
    options = {**_ENGINE, **dsn.options}
    target: dict[str, Any] = {
        "interface": "chdb",
        "path": dsn.path,
        "chdb_options": options,
        "tz_mode": "aware",
    }
    if dsn.path != MEMORY:
        _make_directory(str(dsn.path))
    with busy(dsn):
        first = get_client(**target)
    with told(dsn):
        first.command(f"CREATE DATABASE IF NOT EXISTS `{dsn.database}` ENGINE = Atomic")
    first.database = dsn.database
    ready = [first]

    def make() -> "Client":
        try:
            return ready.pop()
        except IndexError:
            return get_client(database=dsn.database, **target)

    return make


def _get_client(embedded: bool = False) -> Callable[..., "Client"]:
    try:
        if embedded:
            with _utc():
                import chdb  # noqa: F401 -- its engine takes the time zone when it is first loaded
        from clickhouse_connect import get_client
    except ImportError as missing:
        raise MissingExtra("the store", "store") from missing
    # It would print its failures beside the one line that we make of them.
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    return get_client


@contextmanager
def _utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before


def _make_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as fault:
        raise StoreError(f"store directory {path} cannot be made: {fault.strerror}") from fault
    if not os.access(path, os.W_OK | os.X_OK):
        raise StoreError(f"store directory {path} cannot be written: give --dsn another, or mend its owner")
