"""A store whose every statement carries limits: time, rows read, memory, threads.

They are settings of the clients, so the engine itself holds them, whether it runs here or on a server.
"""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from otel_attrib.analytics.service.problem import OverLimit
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

__all__ = ["BoundedStore", "Limits"]

_log = logging.getLogger(__name__)
# The engine's threads at a lower priority of the kernel; without the right to that it does nothing.
_NICE, _YIELDS = "os_threads_nice_value_query", 7
_KILL = "KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC"

# ClickHouse's codes: TIMEOUT_EXCEEDED and its kin, TOO_MANY_ROWS and its kin, MEMORY_LIMIT_EXCEEDED and what
# the engine refuses before it would take the memory (TOO_LARGE_ARRAY_SIZE and its kin).
_TIME, _ROWS, _MEMORY = (159, 160, 209), (158, 307, 396), (241, 128, 131)
_NARROW = "take a shorter window or span, a longer step, fewer dimensions in `by`, or choose with `where`"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may cost: seconds, rows read, bytes of memory, threads."""

    seconds: float
    rows: int
    memory: int
    threads: int = 1

    def settings(self) -> dict[str, Any]:
        """The same as ClickHouse settings."""
        return {
            "max_execution_time": self.seconds,
            "max_rows_to_read": self.rows,
            "read_overflow_mode": "throw",
            "timeout_overflow_mode": "throw",
            "max_memory_usage": self.memory,
            "max_threads": self.threads,
        }


class BoundedStore(Store):
    """Another store's database through clients of its own, on each of which the limits stand.

    Each statement has a name, which the engine shows with it and by which `kill` ends it: never the next
    statement of the same client, however late the engine hears.
    """

    def __init__(self, inner: Store, limits: Limits) -> None:
        """Put `limits` on whatever is asked here."""
        super().__init__(inner.dsn, self._named)
        self.limits = limits
        self._inner = inner
        self._prefix = f"otel-attrib-{secrets.token_hex(6)}"
        self._numbers = count()

    @contextmanager
    def client(self) -> Iterator[tuple["Client", str]]:
        """A client of the pool for one statement, and that statement's name."""
        with self._client() as client:
            name = f"{self._prefix}-{next(self._numbers)}"
            client.set_client_setting("log_comment", name)
            yield client, name

    def kill(self, name: str) -> None:
        """End the statement of this name; a server that does not allow it ends it in time."""
        try:
            self._inner.command(_KILL, {"name": name})
        except StoreError as fault:
            _log.debug("a statement that nobody waits for goes on until its limit: %s", fault)

    @contextmanager
    def _client(self) -> Iterator["Client"]:
        with _over(self.limits), super()._client() as client:
            yield client

    def _named(self) -> "Client":
        client = self._inner.new_client()
        # In one process with the receiver: what comes in goes before what is asked.
        settings = {**self.limits.settings(), **({_NICE: _YIELDS} if self.embedded else {})}
        for setting, value in settings.items():
            client.set_client_setting(setting, value)
        return client


@contextmanager
def _over(limits: Limits) -> Iterator[None]:
    try:
        yield
    except StoreError as fault:
        told = _told(limits, fault.code)
        if told is None:
            raise
        raise told from fault


def _told(limits: Limits, code: int | None) -> OverLimit | None:
    if code in _TIME:
        return OverLimit(f"a statement took longer than api_seconds ({limits.seconds:g} s): {_NARROW}", 504)
    if code in _ROWS:
        return OverLimit(f"a statement would read more than api_rows ({limits.rows:,} rows): {_NARROW}", 413)
    if code in _MEMORY:
        mib = limits.memory / (1 << 20)
        return OverLimit(f"a statement needs more than api_memory ({mib:,.0f} MiB): {_NARROW}", 413)
    return None
