"""GET /heatmap: latency over time as counts, as `otel-attrib heatmap --json`."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from otel_attrib.analytics.heatmap_object import ROWS, Words, ask_heatmap, heatmap_object
from otel_attrib.analytics.latency_bins import BINS
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.parameters import At, Metric, Quantile, Where
from otel_attrib.analytics.service.span import From, To, span_words

__all__ = ["router"]

router = APIRouter(tags=["latency"])


@router.get("/heatmap", operation_id="heatmap", summary="Counts per step of time and bin of latency")
async def heatmap(
    ask: Asks,
    caller: Reader,
    metric: Metric = "ttft",
    quantile: Quantile = 0.99,
    last: Annotated[
        str | None,
        Query(max_length=100, description="The span: `1h` (without any), or `FROM..TO`.", examples=["1h"]),
    ] = None,
    begin: From = None,
    end: To = None,
    step: Annotated[
        str | None,
        Query(max_length=20, description="A column's length; none: at most 120 columns.", examples=["1m"]),
    ] = None,
    bins: Annotated[
        int, Query(ge=1, le=BINS, description="At most so many rows: neighbouring bins are put together.")
    ] = ROWS,
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
) -> Response:
    """Counts from the minutes of `requests_60s`; the line is what /quantiles gives for window = step."""
    chosen = caller.filter(where)
    words = Words(metric, quantile, span_words(last, begin, end, "last", "1h"), step, bins, chosen, at)
    return await ask.respond(lambda store: heatmap_object(*ask_heatmap(store, words, caller.tenants)))
