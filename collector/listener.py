"""Listening sockets bound before anything else starts, and the HTTP servers behind them.

A port that is taken is found at once and told in one line; port 0 becomes a real one here.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from otel_attrib.errors import OtelAttribError

__all__ = ["Listener", "bind"]


def bind(host: str, port: int, what: str) -> socket.socket:
    """A bound socket; `what` is what the port is for and names its option, such as `otlp-http`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as fault:
        raise OtelAttribError(f"host {host!r} cannot be listened on: {fault.strerror}") from fault
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as fault:
        bound.close()
        raise OtelAttribError(
            f"{host}:{port} ({what}) cannot be listened on ({fault.strerror}): "
            f"stop what uses it, or give another --{what}-port (0 picks a free one)"
        ) from fault
    return bound


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service, which has several servers."""
        yield


class Listener:
    """One HTTP server on one bound socket."""

    def __init__(self, app: ASGIApp, bound: socket.socket, certificate: str = "", key: str = "") -> None:
        """Serve `app`, over TLS when a certificate is given."""
        self.port: int = bound.getsockname()[1]
        self._socket = bound
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_keep_alive=75,
                timeout_graceful_shutdown=10,
                ssl_certfile=certificate or None,
                ssl_keyfile=key or None,
            )
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return once requests are answered."""
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started:
            await asyncio.wait({self._task}, timeout=0.005)
            if self._task.done():
                self._task.result()

    async def stop(self) -> None:
        """Answer what has begun, then close."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
