"""GET /status: version, ports and database; counters for who sees every tenant."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from otel_attrib.analytics.service.answer import answered
from otel_attrib.analytics.service.caller import Visitor

__all__ = ["router"]

router = APIRouter(tags=["service"])


@router.get("/status", operation_id="status", summary="What the service says of itself")
async def status(request: Request, caller: Visitor) -> Response:
    """Answers without a token too, so that commands find the store; counters need an unscoped reader."""
    host = request.url.hostname or "127.0.0.1"
    body = dict(request.app.state.behind.status(host))
    if caller is None or caller.tenants:
        body.pop("counters", None)
    return answered(request, body)
