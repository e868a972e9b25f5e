"""GET /reports and /reports/{incident}: what watches and alerts said of their own accord."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from otel_attrib.analytics.report_object import ask_incident, ask_reports
from otel_attrib.analytics.service.ask import Asks
from otel_attrib.analytics.service.caller import Reader
from otel_attrib.analytics.service.describe import ONE
from otel_attrib.analytics.service.pages import Cursor, Limit
from otel_attrib.analytics.service.parameters import Id

__all__ = ["router"]

router = APIRouter(tags=["reports"])
Name = Annotated[str, Query(max_length=200, description="Only those of this one; empty: any.")]


@router.get("/reports", operation_id="reports", summary="Incidents and verdicts, page by page")
async def reports(
    ask: Asks,
    caller: Reader,
    since: Annotated[
        str, Query(max_length=64, description="How far back: `7d`, or a time.", examples=["7d"])
    ] = "7d",
    service: Name = "",
    incident: Name = "",
    state: Annotated[
        str, Query(max_length=40, description="`open`, `small` or `over`; empty: any.", examples=["open"])
    ] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The newest first, without their bodies. A caller with tenants sees reports on these alone."""
    return await ask.respond(
        lambda store: ask_reports(store, since, service, incident, state, caller.tenants, limit, cursor)
    )


@router.get(
    "/reports/{incident}", operation_id="report", summary="All that was said of one incident", responses=ONE
)
async def report(
    ask: Asks,
    caller: Reader,
    incident: Annotated[Id, Path(description="As /reports gives it, or how it begins.")],
) -> Response:
    """The newest first, each with `report`, the answer of `why` at that time."""
    return await ask.respond(lambda store: ask_incident(store, incident.strip(), caller.tenants))
