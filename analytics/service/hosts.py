"""By which names the service may be asked, so that no web page reaches it through its reader's browser.

A name that an attacker makes point to 127.0.0.1 (DNS rebinding) arrives in `Host`; a form that another page
sends arrives with that page's `Origin`. Without tokens whoever reaches loopback is an admin, so both count.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from otel_attrib.analytics.service.problem import problem
from otel_attrib.schema.address import is_loopback

__all__ = ["Hosts", "allowed_hosts", "free_paths"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(host: str, named: Sequence[str]) -> frozenset[str]:
    """The names that `Host` may have; none: any, where the service listens beyond loopback."""
    if named:
        return frozenset(name.lower().strip("[]") for name in (*_LOOPBACK, host, *named))
    return frozenset((*_LOOPBACK, host.lower())) if is_loopback(host) else frozenset()


def free_paths(host: str) -> tuple[str, ...]:
    """What a site's machinery asks by an address of its own; beyond loopback also the counters."""
    health = ("/healthz", "/readyz")
    return health if is_loopback(host) else (*health, "/metrics")


class Hosts:
    """Middleware that answers 421 to a foreign `Host`, and 403 to another page's writing."""

    def __init__(self, app: ASGIApp, allowed: frozenset[str], free: Sequence[str] = ()) -> None:
        """Let requests for the `allowed` names (none: any) or the `free` paths through to `app`."""
        self._app = app
        self._allowed = allowed
        self._free = frozenset(free)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin", "")
            if self._allowed and _name(host) not in self._allowed and scope["path"] not in self._free:
                why = f"this service is not {_name(host)!r}: name the host with setting api_hosts if it is"
                await problem(421, why)(scope, receive, send)
                return
            if scope["method"] not in ("GET", "HEAD", "OPTIONS") and origin and _elsewhere(origin, host):
                await problem(403, "a page of another origin may not write here")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _elsewhere(origin: str, host: str) -> bool:
    return origin.partition("://")[2].lower() != host.lower()
