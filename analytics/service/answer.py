"""An answer as bytes: canonical JSON, a strong ETag, 304 for who has it already.

The same values give the same bytes, so two services over one store give one ETag.
"""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["Encoded", "answered", "encode", "respond"]

_WORTH_PACKING = 1_400  # bytes: below it the answer fits one packet anyway
CACHE_CONTROL = "private, no-cache"
"""Keep it, ask before using it: an ETag that still holds costs no body."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One answer ready to be sent."""

    body: bytes
    etag: str
    packed: bytes | None


def encode(body: Mapping[str, Any]) -> Encoded:
    """Write an answer; a number that JSON has not (NaN, infinity) becomes null: not known."""
    data = _json(body)
    packed = gzip.compress(data, 1, mtime=0) if len(data) >= _WORTH_PACKING else None
    return Encoded(data, f'"{sha256(data).hexdigest()[:32]}"', packed)


def answered(request: Request, body: Mapping[str, Any]) -> Response:
    """`body` as a response to `request`: 304 when its ETag is the one that the client has."""
    return respond(request, encode(body))


def respond(request: Request, encoded: Encoded) -> Response:
    """An encoded answer as a response to `request`."""
    headers = {"ETag": encoded.etag, "Cache-Control": CACHE_CONTROL, "Vary": "Accept-Encoding, Authorization"}
    if _has(request, encoded.etag):
        return Response(status_code=304, headers=headers)
    data = encoded.body
    if encoded.packed is not None and _takes_gzip(request):
        data, headers["Content-Encoding"] = encoded.packed, "gzip"
    return Response(data, 200, headers, "application/json")


def _json(body: Mapping[str, Any]) -> bytes:
    write: Callable[[Any], str] = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=False
    ).encode
    try:
        return write(body).encode()
    except ValueError:
        return write(_finite(body)).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _has(request: Request, etag: str) -> bool:
    """Whether If-None-Match names the ETag; comparison is weak, as the header's is (RFC 9110, 13.1.2)."""
    known = request.headers.get("if-none-match", "")
    tags = {each.strip().removeprefix("W/") for each in known.split(",")}
    return "*" in tags or etag in tags


def _takes_gzip(request: Request) -> bool:
    coded = request.headers.get("accept-encoding", "").lower().split(",")
    asked = {
        name.strip(): weight.replace(" ", "") for name, _, weight in (each.partition(";") for each in coded)
    }
    return "gzip" in asked and asked["gzip"] not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
