"""GET /quantiles: sliding quantiles, as `otel-attrib quantiles --json`."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from otel_attrib.analytics.quantiles_object import Words, ask_quantiles, quantiles_object
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.parameters import At, By, LookBack, Metric, Quantile, Where

__all__ = ["router"]

router = APIRouter(tags=["latency"])

KEPT_SECONDS = 2.0  # a state is of 10 s


@router.get("/quantiles", operation_id="quantiles", summary="Sliding P99 (or any quantile) of a latency")
async def quantiles(
    ask: Asks,
    caller: Reader,
    metric: Metric = "ttft",
    quantile: Quantile = 0.99,
    window: LookBack = "5m",
    step: Annotated[
        str, Query(max_length=20, description="Time between two numbers.", examples=["1m"])
    ] = "1m",
    last: Annotated[
        str,
        Query(max_length=100, description="Numbers for this span: `15m` or `FROM..TO`.", examples=["15m"]),
    ] = "15m",
    by: By = "",
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    at: At = "now",
    exact: Annotated[bool, Query(description="From the requests themselves, not the 10 s states.")] = False,
) -> Response:
    """Numbers from 10 s states, within 1 % of the value at their rank (TBT 2 %)."""
    words = Words(metric, quantile, window, step, last, by, caller.filter(where), at, exact)
    return await ask.respond(lambda store: quantiles_object(*ask_quantiles(store, words)), KEPT_SECONDS)
