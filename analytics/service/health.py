"""What the service says of itself: /healthz, /readyz, /metrics."""

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

if TYPE_CHECKING:
    from otel_attrib.analytics.service.app import Behind

__all__ = ["add_health"]

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def add_health(app: FastAPI, behind: "Behind") -> None:
    """Add the routes that every site's machinery asks, without a token."""

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
    async def metrics() -> Response:
        """Every counter in Prometheus' text format."""
        pages = [await run_in_threadpool(page) for page in behind.metrics]
        return Response("".join(pages), media_type=_PROMETHEUS)
