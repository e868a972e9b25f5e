"""Requests of two tenants in the last minute before a time, with latencies that are known."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pyarrow as pa
import pytest

from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Put = Callable[..., None]


@pytest.fixture
def put() -> Put:
    """Store `n` requests of a tenant, spread over the seconds before `end`; TTFT 1 … n times `unit` ms."""

    def put(
        store: Store,
        tenant: str,
        n: int,
        unit: float,
        end: datetime = NOON,
        seconds: float = 60,
        tokens: tuple[int, int] = (100, 10),
    ) -> None:
        step = timedelta(seconds=seconds / n)
        columns = {
            "time": pa.array([end - step * (k + 1) for k in range(n)], pa.timestamp("us", "UTC")),
            "trace_id": [f"{crc32(tenant.encode()):08x}{k:024x}" for k in range(n)],
            "service": ["chat"] * n,
            "tenant": [tenant] * n,
            "status": ["ok"] * n,
            "prompt_tokens": pa.array([tokens[0]] * n, pa.uint32()),
            "output_tokens": pa.array([tokens[1]] * n, pa.uint32()),
            "ttft_us": pa.array([1000.0 * unit * (k + 1) for k in range(n)]),
        }
        store.insert_arrow("requests", pa.table(columns))

    return put
