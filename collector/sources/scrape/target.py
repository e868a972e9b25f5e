"""Where a page of metrics is: a URL as it was given, what of it may be shown, and the kind that was named."""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from otel_attrib.collector.sources.scrape.mapping import KINDS
from otel_attrib.errors import UsageError

__all__ = ["Target", "target"]

_KIND = re.compile(r"(?P<url>.+)=(?P<kind>[a-z_]+)")


@dataclass(frozen=True, slots=True)
class Target:
    """One page; `user` is never shown."""

    secure: bool
    host: str
    port: int
    path: str
    kind: str = ""
    """Empty: the page itself tells."""
    given: bool = True
    """Named by the user; a page that was found on the machine gets no token."""
    user: str = field(default="", repr=False)
    """Name and password of the URL, `name:password`."""

    @property
    def where(self) -> str:
        """The URL without name and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path.partition('?')[0]}"


def target(text: str) -> Target:
    """Read `URL` or `URL=kind`; `/metrics` is the path where none is given."""
    found = _KIND.fullmatch(text.strip())
    url, kind = (found["url"], found["kind"]) if found and found["kind"] in KINDS else (text.strip(), "")
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("--scrape: an address is host:port or http://host:port/metrics") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--scrape: {parts.scheme}://{parts.hostname or ''} is no address of HTTP or HTTPS")
    path = parts.path if parts.path not in ("", "/") else "/metrics"
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    secure = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    return Target(secure, parts.hostname, port or (443 if secure else 80), path + query, kind, True, user)
