"""GET /requests: the slowest or the newest requests of a window, as `otel-attrib requests --json`."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from otel_attrib.analytics.request_object import ask_requests, requests_object
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.pages import Cursor, Limit
from otel_attrib.analytics.service.parameters import At, Metric, Where
from otel_attrib.analytics.service.span import From, To, span_words

__all__ = ["router"]

router = APIRouter(tags=["requests"])
Ms = Annotated[float | None, Query(ge=0, allow_inf_nan=False, description="Limit of the metric in ms.")]


@router.get("/requests", operation_id="requests", summary="Requests behind a dot, page by page")
async def requests(
    ask: Asks,
    caller: Reader,
    metric: Metric = "ttft",
    window: Annotated[
        str | None,
        Query(max_length=100, description="The span: `15m` (without any), or `FROM..TO`.", examples=["15m"]),
    ] = None,
    begin: From = None,
    end: To = None,
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
    above_ms: Ms = None,
    below_ms: Ms = None,
    order: Annotated[Literal["slowest", "newest"], Query(description="What comes first.")] = "slowest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Values in [above_ms, below_ms), as the rows of /heatmap; a request's TBT is its longest gap."""
    chosen = caller.filter(where)
    span = span_words(window, begin, end, "window", "15m")
    return await ask.respond(
        lambda store: requests_object(
            metric,
            ask_requests(store, metric, span, chosen, at, above_ms, below_ms, order, limit, cursor),
        )
    )
