"""Export requests into the store as they came over the wire: ClickHouse decodes them.

Every call is one block: all of it is there when the call returns, or nothing is. A block that is
inserted again with the same token adds nothing to the tables that have it and is written to those that
miss it, in any order after a crash.
Requests must have been parsed before: one malformed message refuses its whole block.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from otel_attrib.schema.store import Store

__all__ = ["insert_logs", "insert_metrics", "insert_traces"]

_HERE = Path(__file__).parent
_SETTINGS = {
    # The token holds for each table down the chain of views, not only for the first.
    "insert_deduplicate": 1,
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    # One client with a broken clock must not refuse the spans of all others in its block.
    "max_partitions_per_insert_block": 0,
    # In JSON text a slash stays a slash.
    "output_format_json_escape_forward_slashes": 0,
    # A block is one core's work from end to end; who wants more inserts several at a time.
    "max_threads": 1,
    "input_format_parallel_parsing": 0,
    # The views have nothing to optimise, and trying costs a quarter of their analysis.
    "query_plan_enable_optimizations": 0,
}


def insert_traces(store: Store, requests: Sequence[bytes], token: str) -> None:
    """Insert serialized ExportTraceServiceRequests as one block."""
    _insert(store, "traces", "ExportTraceServiceRequest", "resource_spans", requests, token)


def insert_metrics(store: Store, requests: Sequence[bytes], token: str) -> None:
    """Insert serialized ExportMetricsServiceRequests as one block."""
    _insert(store, "metrics", "ExportMetricsServiceRequest", "resource_metrics", requests, token)


def insert_logs(store: Store, requests: Sequence[bytes], token: str) -> None:
    """Insert serialized ExportLogsServiceRequests as one block."""
    _insert(store, "logs", "ExportLogsServiceRequest", "resource_logs", requests, token)


def _insert(
    store: Store, signal: str, message: str, column: str, requests: Sequence[bytes], token: str
) -> None:
    body = b"".join(part for request in requests if request for part in (_varint(len(request)), request))
    if body:
        settings = {
            **_SETTINGS,
            **_format_schema(store, signal, message),
            "insert_deduplication_token": token,
        }
        store.insert_raw(f"otlp_{signal}", [column], body, "Protobuf", settings)


def _format_schema(store: Store, signal: str, message: str) -> dict[str, Any]:
    """The message's definition: for a server its text; for chDB, which would copy a text into the current
    directory, the file.
    """
    file = _HERE / f"otlp_{signal}.proto"
    if store.embedded:
        return {"format_schema": f"{file}:{message}"}
    return {
        "format_schema_source": "string",
        "format_schema": _text(file),
        "format_schema_message_name": message,
    }


@lru_cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
