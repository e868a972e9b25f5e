"""The listing of requests from a user's words to JSON: the same for the command and for the service."""

from typing import Any

from otel_attrib.analytics.cursor import Page
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.question import end_of
from otel_attrib.analytics.request_list import ORDERS, RequestRow, RequestsAsked, list_requests
from otel_attrib.analytics.windows import parse_window, rfc3339
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["SCHEMA", "ask_requests", "requests_object"]

SCHEMA = "otel-attrib/requests/1"


def ask_requests(
    store: Store,
    metric: str,
    window: str,
    where: Filter,
    at: str,
    above_ms: float | None,
    below_ms: float | None,
    order: str,
    limit: int,
    cursor: str | None,
) -> Page[RequestRow]:
    """The page that these words ask for."""
    chosen = next((each for each in ORDERS if each == order), None)
    if chosen is None:
        raise UsageError(f"no order {order!r}; choose one of {', '.join(ORDERS)}")
    span = parse_window(window, end_of(store, at, where))
    asked = RequestsAsked(metric_named(metric), span, where, above_ms, below_ms, chosen)
    return list_requests(store, asked, limit, cursor)


def requests_object(metric: str, page: Page[RequestRow]) -> dict[str, Any]:
    """A page as `otel-attrib requests --json` prints it."""
    return {
        "schema": SCHEMA,
        "metric": metric,
        "items": [_object(row) for row in page.items],
        "next": page.next,
    }


def _object(row: RequestRow) -> dict[str, Any]:
    return {
        "time": rfc3339(row.time),
        **row.words,
        "prompt_tokens": row.prompt_tokens,
        "output_tokens": row.output_tokens,
        "weight": row.weight,
        "value_ms": None if row.value_us is None else row.value_us / 1000,
        **{f"{name}_ms": ms for name, ms in row.latencies_ms.items()},
        "stages_ms": dict(row.stages_ms),
    }
