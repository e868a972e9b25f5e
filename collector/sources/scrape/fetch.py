"""One page over HTTP: a kept connection, a second for all of it, 16 MiB at most, no redirect followed.

Proxies of the environment are not used: these pages are on this machine or beside it.
"""

import base64
import http.client
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from otel_attrib.collector.sources.scrape.target import Target
from otel_attrib.errors import OtelAttribError

__all__ = ["LIMIT", "TIMEOUT_S", "Fetched", "Page", "Unreadable"]

TIMEOUT_S: Final = 1.0
"""For all of one answer."""

LIMIT: Final = 16 << 20
"""Bytes of one page, unpacked."""

_PIECE: Final = 1 << 16
_ACCEPT: Final = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"
_UNPACK: Final[Mapping[str, int]] = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class Unreadable(OtelAttribError):
    """A page that was not read: the message says where and why, and holds no secret."""


class Fetched(NamedTuple):
    """A page, and how many ms one unit of its timestamps is."""

    text: str
    stamp_ms: float


class Page:
    """The page of one target, fetched again and again."""

    def __init__(
        self, target: Target, token: str = "", timeout_s: float = TIMEOUT_S, limit: int = LIMIT
    ) -> None:
        """Fetch with `token` as a bearer, which is never logged, unless the URL has name and password."""
        self._target = target
        self._timeout_s = timeout_s
        self._limit = limit
        self._headers = {"Accept": _ACCEPT, "Accept-Encoding": "identity", "User-Agent": "otel-attrib"}
        if target.user:
            word = base64.b64encode(target.user.encode()).decode()
            self._headers["Authorization"] = f"Basic {word}"
        elif token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None

    def fetch(self) -> Fetched:
        """Return the page as it is now; `Unreadable` says why there is none."""
        until = time.monotonic() + self._timeout_s
        kept = self._connection is not None
        try:
            try:
                return self._answer(until)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if not kept:
                    raise
                return self._answer(until)
        except TimeoutError:
            self.close()
            raise self._unreadable(f"no answer within {self._timeout_s:g} s") from None
        except (OSError, http.client.HTTPException, zlib.error) as fault:
            self.close()
            raise self._unreadable(_words(fault)) from fault
        except Unreadable:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _answer(self, until: float) -> Fetched:
        connection = self._connection or self._connected(until)
        if connection.sock is None:  # the server ended it after its answer
            connection.connect()
        wait = _Patience(connection.sock, until)
        wait()
        connection.request("GET", self._target.path, headers=self._headers)
        wait()
        with connection.getresponse() as response:
            self._check(response)
            body = self._body(response, wait)
            kind = response.headers.get_content_type()
        text = body.decode("utf-8", errors="replace")
        if kind == "text/html" or text.lstrip()[:1] == "<":
            raise self._unreadable("answers with a web page, not with metrics")
        return Fetched(text, 1000.0 if kind == "application/openmetrics-text" else 1.0)

    def _connected(self, until: float) -> http.client.HTTPConnection:
        to, seconds = self._target, max(0.01, until - time.monotonic())
        if to.secure:
            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(to.host, to.port, timeout=seconds, context=context)
        else:
            self._connection = http.client.HTTPConnection(to.host, to.port, timeout=seconds)
        self._connection.connect()
        return self._connection

    def _body(self, response: http.client.HTTPResponse, wait: "_Patience") -> bytes:
        coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if coding != "identity" and coding not in _UNPACK:
            raise self._unreadable(f"answers in {coding}, which is not asked for")
        unpack = zlib.decompressobj(_UNPACK[coding]) if coding in _UNPACK else None
        pieces, size = [], 0
        while piece := response.read1(_PIECE):
            plain = unpack.decompress(piece, self._limit + 1 - size) if unpack else piece
            pieces.append(plain)
            size += len(plain)
            if size > self._limit:
                raise self._unreadable(f"answers with more than {self._limit >> 20} MiB")
            wait()
        return b"".join(pieces)

    def _check(self, response: http.client.HTTPResponse) -> None:
        status = response.status
        if 300 <= status < 400:
            raise self._unreadable("sends on to another address, which is not followed: give that one")
        if status in (401, 403):
            raise self._unreadable(
                f"asks for a token (HTTP {status}): OTEL_ATTRIB_SCRAPE_TOKEN is sent as a bearer"
            )
        if status != 200:
            raise self._unreadable(f"answers HTTP {status} {response.reason}".rstrip())

    def _unreadable(self, why: str) -> Unreadable:
        return Unreadable(f"{self._target.where}: {why}")


class _Patience:
    """Lets the next call on a socket take no longer than is left of the time for the whole answer."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock = sock
        self._until = until

    def __call__(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


def _words(fault: Exception) -> str:
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {fault.verify_message}"
    if isinstance(fault, zlib.error):
        return "its packing is broken"
    if isinstance(fault, OSError):
        return fault.strerror or str(fault) or type(fault).__name__
    return f"no HTTP: {type(fault).__name__}"
