"""Find where an import goes: the service if one is meant or runs, else a store of our own."""

from collections.abc import Iterator
from contextlib import contextmanager

from otel_attrib.collector.imports.delivery import Delivery, ServiceDelivery
from otel_attrib.collector.imports.store_delivery import StoreDelivery
from otel_attrib.config import load
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.service import store_address
from otel_attrib.schema.store import chosen, open_store

__all__ = ["delivery"]


@contextmanager
def delivery(dsn: str | None, url: str | None) -> Iterator[Delivery]:
    """Open the target; an embedded store gets its tables, a remote one must have them."""
    named, service = chosen(dsn, url)
    if service is not None:
        with open_store(store_address(service)) as store:
            yield ServiceDelivery(service, store, load().otlp_token)
        return
    with open_store(str(named)) as store:
        if store.embedded:
            migrate(store)
        yield StoreDelivery(store)
