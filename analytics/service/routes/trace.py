"""GET /trace/{id}: one request as a waterfall, as `otel-attrib trace --json`."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.describe import ONE
from otel_attrib.analytics.service.parameters import Id
from otel_attrib.analytics.trace_object import ask_trace

__all__ = ["router"]

router = APIRouter(tags=["requests"])


@router.get("/trace/{id}", operation_id="trace", summary="One request as a waterfall", responses=ONE)
async def trace(
    ask: Asks,
    caller: Reader,
    id: Annotated[Id, Path(description="Trace, span or request id, or how one begins that no other shares.")],
    evidence: Annotated[
        bool,
        Query(description="Also what its cards and host did: `evidence`, and their counters as `series`."),
    ] = False,
) -> Response:
    """Its stages, token gaps in order (`gaps_ms`, where they are stored), engine steps and neighbours.

    A request of a tenant that the caller does not see is not there: 404.
    """
    return await ask.respond(lambda store: ask_trace(store, id.strip(), caller.scope(), evidence))
