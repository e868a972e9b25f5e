"""A store for one question, which can be called off while its statements run."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from otel_attrib.analytics.service.bounded import BoundedStore
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

__all__ = ["CancellableStore"]


class CancellableStore(Store):
    """A store for one question; after `cancel` it refuses statements and stops those that run."""

    def __init__(self, pool: BoundedStore) -> None:
        """Ask through the clients of `pool`."""
        super().__init__(pool.dsn, pool.new_client)
        self._pool = pool
        self._running: set[str] = set()
        self._cancelled = False
        self._own = Lock()

    def cancel(self) -> None:
        """Call the question off; blocks for as long as the store takes to hear it."""
        with self._own:
            self._cancelled = True
            running = tuple(self._running)
        for name in running:
            self._pool.kill(name)

    def close(self) -> None:
        """Nothing: the clients are the pool's."""

    @contextmanager
    def _client(self) -> Iterator["Client"]:
        with self._pool.client() as (client, name):
            with self._own:
                if self._cancelled:
                    raise StoreError("nobody waits for this question any more")
                self._running.add(name)
            try:
                yield client
            finally:
                with self._own:
                    self._running.discard(name)
