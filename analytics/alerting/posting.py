"""One POST of JSON to an address that a site has set, and what came of it.

Credentials in an address (`http://user:password@host`) become an Authorization header and are shown
nowhere: an address is told as scheme, host and port alone, because the paths of chat systems' webhooks
are secrets.
"""

import base64
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from otel_attrib import __version__
from otel_attrib.errors import UsageError
from otel_attrib.schema.address import http_parts, is_loopback

__all__ = ["Address", "Answer", "as_body"]

AGENT = f"otel-attrib/{__version__}"
TOO_EARLY = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an address answered; `status` is 0 when nobody did."""

    status: int
    text: str = ""

    @property
    def taken(self) -> bool:
        """Whether it was accepted."""
        return 200 <= self.status < 300

    @property
    def worth_another_try(self) -> bool:
        """Whether the same may be accepted later: what is refused as wrong stays wrong."""
        return self.status == 0 or self.status >= 500 or self.status in TOO_EARLY

    def __str__(self) -> str:
        """Write it for people."""
        return f"{self.status} {self.text}".strip() if self.status else self.text


@dataclass(frozen=True, slots=True)
class Address:
    """Where to post; `headers` go with every request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""

    @classmethod
    def of(cls, text: str, setting: str, token: str = "") -> "Address":
        """Read what a setting holds; `token` is a bearer token."""
        parts = http_parts(text)
        if parts is None:
            raise UsageError(f"setting {setting}: an address is not of the form http://host:port/path")
        place = parts.netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        url = urlunsplit((parts.scheme, place, parts.path, parts.query, ""))
        return cls(url, headers, f"{parts.scheme}://{place}")

    def below(self, path: str) -> str:
        """Return the URL of something below it."""
        return f"{self.url.rstrip('/')}{path}"

    def post(
        self, url: str, body: bytes, more: Mapping[str, str] | None = None, timeout_s: float = 10.0
    ) -> Answer:
        """Post JSON; every failure is an answer, none is raised."""
        headers = {"Content-Type": "application/json", "User-Agent": AGENT, **self.headers, **(more or {})}
        try:
            with self._opener().open(Request(url, body, headers), timeout=timeout_s) as answer:
                return Answer(answer.status, _text(answer))
        except HTTPError as refused:
            return Answer(refused.code, _moved_to(refused) or _text(refused))
        except (URLError, OSError, http.client.HTTPException) as fault:
            return Answer(0, f"does not answer ({getattr(fault, 'reason', fault)})")

    def _opener(self) -> OpenerDirector:
        """A proxy set for the internet must not be asked for this machine."""
        here = is_loopback(urlsplit(self.url).hostname or "")
        return build_opener(_Unmoved, *([ProxyHandler({})] if here else []))


class _Unmoved(HTTPRedirectHandler):
    """Follows no redirection: urllib would ask with GET, without the body, and hand the credentials on.

    So a 3xx is an answer as it is: not taken, and counted as that.
    """

    def redirect_request(self, *_: object) -> None:
        """Return nothing: there is no other request."""


def _moved_to(refused: HTTPError) -> str:
    """What to set instead, of a redirection: scheme and host alone, because paths may be secrets."""
    place = urlsplit(refused.headers.get("Location", "")) if 300 <= refused.code < 400 else None
    return f"is redirected to {place.scheme}://{place.netloc.rpartition('@')[2]}: set that" if place else ""


def _text(answer: "HTTPError | http.client.HTTPResponse") -> str:
    return answer.read(300).decode("utf-8", "replace").strip()


def as_body(content: object) -> bytes:
    """Return the bytes of a JSON body."""
    return json.dumps(content, ensure_ascii=False).encode()
