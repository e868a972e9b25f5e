"""One count, one time and, if wanted, one line of the log for each request."""

import logging
import re
import time
from urllib.parse import parse_qsl, quote_plus, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.route_path import route_of

__all__ = ["ACCESS", "AccessLog"]

ACCESS = logging.getLogger("otel_attrib.access")
"""Where the lines go; silent unless setting access_log is on."""

_SECRET = re.compile(r"token|secret|passw|key|auth|cookie|signature", re.IGNORECASE)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class AccessLog:
    """Middleware that counts, and writes a line when `written`; neither has a header or a token in it."""

    def __init__(self, app: ASGIApp, meters: Meters, written: bool) -> None:
        """Stand before `app`."""
        self._app = app
        self._meters = meters
        self._written = written

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = {"status": 0, "bytes": 0}

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
            elif message["type"] == "http.response.body":
                told["bytes"] += len(message.get("body", b""))
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, counted)
        finally:
            self._tell(scope, told["status"] or 500, told["bytes"], time.perf_counter() - began)

    def _tell(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = route_of(scope)
        # A method is what a client sends: only known ones become a label.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._meters.requests.labels(route, method, str(status)).inc()
        self._meters.seconds.labels(route).observe(seconds)
        if self._written:
            path = _shown(scope)
            ACCESS.info(
                "%s %s %d in %.1f ms",
                method,
                path,
                status,
                seconds * 1e3,
                extra={
                    "method": method,
                    "path": path,
                    "route": route,
                    "status": status,
                    "bytes": size,
                    "ms": round(seconds * 1e3, 3),
                },
            )


def _shown(scope: Scope) -> str:
    """Path and query as they were sent; the value of whatever may be a secret is left out."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = [(name, "…" if _SECRET.search(name) else value) for name, value in query]
    path = quote_plus(scope["path"], safe="/:")
    return f"{path}?{urlencode(kept, safe='/:=,…')}" if kept else path
