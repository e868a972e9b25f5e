"""What the service says of itself: `/api/v1/status`, `/metrics`, `/healthz`, `/readyz`."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from otel_attrib import __version__
from otel_attrib.collector.counters import Counters

__all__ = ["ANY_HOST", "status_app"]

ANY_HOST = ("0.0.0.0", "::", "[::]")


def status_app(
    addresses: Mapping[str, str], database: str, counters: Counters, trouble: Callable[[], str]
) -> FastAPI:
    """The application of the HTTP port; `trouble` says why the service is not ready, or nothing."""
    app = FastAPI(title="otel-attrib", version=__version__, docs_url=None, redoc_url=None)
    for path, handler in {
        "/api/v1/status": _status(addresses, database, counters),
        "/metrics": _metrics(counters),
        "/healthz": _healthz,
        "/readyz": _readyz(trouble),
    }.items():
        app.add_api_route(path, handler, methods=["GET"])
    return app


Handler = Callable[..., Awaitable[Any]]


def _status(addresses: Mapping[str, str], database: str, counters: Counters) -> Handler:
    async def status(request: Request) -> dict[str, Any]:
        """Addresses, the store's database, and every counter that is not 0."""
        host = request.url.hostname or "127.0.0.1"
        return {
            "version": __version__,
            **{name: _seen_from(host, address) for name, address in addresses.items()},
            "database": database,
            "counters": counters.totals(),
        }

    return status


def _seen_from(host: str, address: str) -> str:
    """An address bound to every interface, as the one who asks can reach it."""
    where = urlsplit(address)
    if where.hostname not in ANY_HOST:
        return address
    return f"{where.scheme}://{f'[{host}]' if ':' in host else host}:{where.port}"


def _metrics(counters: Counters) -> Handler:
    async def metrics() -> Response:
        """Every counter in Prometheus' text format."""
        return Response(counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return metrics


async def _healthz() -> Response:
    """The process answers."""
    return Response("ok\n", media_type="text/plain")


def _readyz(trouble: Callable[[], str]) -> Handler:
    async def readyz() -> Response:
        """Requests are accepted and the store answers."""
        found = await run_in_threadpool(trouble)
        return Response(f"{found or 'ok'}\n", 503 if found else 200, media_type="text/plain")

    return readyz
