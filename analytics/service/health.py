"""What the service says of itself: /healthz, /readyz, /metrics."""

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from otel_attrib.analytics.exposition import encoded
from otel_attrib.analytics.service.meters import Meters

if TYPE_CHECKING:
    from otel_attrib.analytics.service.app import Behind

__all__ = ["add_health"]


def add_health(app: FastAPI, behind: "Behind", meters: Meters) -> None:
    """Add the routes that every site's machinery asks, without a token."""

    collected = (*behind.metrics, meters.registry)

    @app.get("/healthz", operation_id="healthz", tags=["service"], response_class=PlainTextResponse)
    async def healthz() -> Response:
        """The process answers."""
        return PlainTextResponse("ok\n")

    @app.get("/readyz", operation_id="readyz", tags=["service"], response_class=PlainTextResponse)
    async def readyz() -> Response:
        """The store answers; otherwise 503 and why not."""
        found = await run_in_threadpool(behind.trouble)
        return PlainTextResponse(f"{found or 'ok'}\n", 503 if found else 200)

    @app.get("/metrics", operation_id="metrics", tags=["service"], response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Every counter and histogram as OpenMetrics, with exemplars, or in Prometheus' text format."""
        page, kind = await run_in_threadpool(encoded, collected, request.headers.get("accept", ""))
        return Response(page, headers={"content-type": kind})
