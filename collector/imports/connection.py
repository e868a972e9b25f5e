"""Find where an import goes: the service if one is meant or runs, else a store of our own."""

from collections.abc import Iterator
from contextlib import contextmanager

from otel_attrib.collector.imports.delivery import Delivery, ServiceDelivery
from otel_attrib.collector.imports.store_delivery import StoreDelivery
from otel_attrib.config import load
from otel_attrib.errors import StoreError
from otel_attrib.schema.dsn import default_dsn
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.service import DEFAULT_URL, service_status, store_address
from otel_attrib.schema.store import open_store

__all__ = ["delivery"]


@contextmanager
def delivery(dsn: str | None, url: str | None) -> Iterator[Delivery]:
    """Open the target; an embedded store gets its tables, a remote one must have them."""
    service = url if url or dsn else _running()
    if dsn or service is None:
        with open_store(dsn or default_dsn()) as store:
            if store.embedded:
                migrate(store)
            yield StoreDelivery(store)
        return
    with open_store(store_address(service)) as store:
        yield ServiceDelivery(service, store, load().otlp_token)


def _running() -> str | None:
    try:
        service_status(DEFAULT_URL, timeout_s=2.0)
    except StoreError:
        return None
    return DEFAULT_URL
