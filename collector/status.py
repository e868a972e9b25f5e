"""What the service says of itself: `/api/v1/status`, `/metrics`, `/healthz`, `/readyz`."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from otel_attrib import __version__
from otel_attrib.collector.counters import Counters

__all__ = ["ANY_HOST", "status_app", "status_for"]

ANY_HOST = ("0.0.0.0", "::")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def status_for(
    host: str, addresses: Mapping[str, str], database: str, counters: Mapping[str, float]
) -> dict[str, Any]:
    """The body of /api/v1/status for who asks at `host`: addresses, the store's database, counters."""
    seen = {name: _seen_from(host, address) for name, address in addresses.items()}
    return {"version": __version__, **seen, "database": database, "counters": dict(counters)}


def status_app(
    addresses: Mapping[str, str], database: str, counters: Counters, trouble: Callable[[], str]
) -> Starlette:
    """The least that the HTTP port answers; `trouble` says why the service is not ready, or nothing."""

    def status(request: Request) -> Response:
        """Addresses, the store's database, and every counter that is not 0."""
        host = request.url.hostname or "127.0.0.1"
        return JSONResponse(status_for(host, addresses, database, counters.totals()))

    def metrics(_: Request) -> Response:
        """Every counter in Prometheus' text format."""
        return Response(counters.text(), media_type=_PROMETHEUS)

    def healthz(_: Request) -> Response:
        """The process answers."""
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        """The store answers."""
        found = await run_in_threadpool(trouble)
        return PlainTextResponse(f"{found or 'ok'}\n", 503 if found else 200)

    return Starlette(
        routes=[
            Route("/api/v1/status", status),
            Route("/metrics", metrics),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
        ]
    )


def _seen_from(host: str, address: str) -> str:
    """An address bound to every interface, as the one who asks can reach it."""
    where = urlsplit(address)
    if where.hostname not in ANY_HOST:
        return address
    return f"{where.scheme}://{f'[{host}]' if ':' in host else host}:{where.port}"
