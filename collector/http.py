"""OTLP over HTTP: `/v1/traces`, `/v1/metrics`, `/v1/logs`, Protobuf and JSON, gzip.

A refused client is read to the end (up to the size limit) before it is answered: one that is cut off
while sending sees a broken connection instead of the answer, and sends everything again.
"""

import asyncio
import json
import logging
from collections.abc import Sequence

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from otel_attrib.collector.receiver import Receiver, answer
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import SIGNALS, Signal

__all__ = ["otlp_http"]

_log = logging.getLogger(__name__)
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_ENCODINGS = ("gzip", "deflate")
_SIGNALS = {signal.path: signal for signal in SIGNALS}


def otlp_http(receiver: Receiver, cors_origins: Sequence[str] = ()) -> ASGIApp:
    """The ASGI application of the OTLP port; browsers may post only from `cors_origins`."""
    application = _Otlp(receiver)
    if not cors_origins:
        return application
    return CORSMiddleware(
        application, allow_origins=cors_origins, allow_methods=["POST"], allow_headers=["*"], max_age=7200
    )


class _Otlp:
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        try:
            signal = _signal(request)
        except Refusal as refusal:
            self._receiver.refused("", refusal)
            await _drain(request, self._receiver)
            return _refused(request, refusal)
        try:
            with self._receiver.counting(signal, "http"):
                return await self._take(request, signal)
        except Refusal as refusal:
            await _drain(request, self._receiver)
            return _refused(request, refusal)
        except ClientDisconnect:
            raise
        except Exception:
            _log.exception("a request failed")
            return _refused(request, Refusal("internal", "the service failed, see its log"))

    async def _take(self, request: Request, signal: Signal) -> Response:
        self._receiver.admit(request.headers.get("authorization"))
        media_type, encoding = _media_type(request), _encoding(request)
        body = _Body(self._receiver)
        try:
            data = await body.read(request, encoding)
            verdict = await self._receiver.take(signal, data, media_type == _JSON)
        finally:
            body.close()
        return _answered(answer(signal, verdict), media_type)


class _Body:
    """The bytes of one request, counted as in flight while they are here."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._held = 0

    async def read(self, request: Request, encoding: str) -> bytes:
        """The whole body, decompressed; `Refusal` as soon as it is too large or too slow."""
        try:
            async with asyncio.timeout(self._receiver.timeout):
                data = await self._receive(request)
        except TimeoutError:
            raise Refusal(
                "timeout", f"the body did not come within {self._receiver.timeout:g} seconds"
            ) from None
        if encoding:
            data = await self._receiver.inflate(data, encoding)
            self._hold(len(data))
        return data

    def close(self) -> None:
        self._receiver.release(self._held)

    async def _receive(self, request: Request) -> bytes:
        limit, size, parts = self._receiver.limit, 0, []
        if int(request.headers.get("content-length") or 0) > limit:
            raise Refusal("too_large", f"the body is larger than {limit} bytes")
        try:
            async for part in request.stream():
                self._hold(len(part))
                size += len(part)
                if size > limit:
                    raise Refusal("too_large", f"the body is larger than {limit} bytes")
                parts.append(part)
        except ClientDisconnect:
            raise Refusal("disconnected", "the client went away") from None
        return b"".join(parts)

    def _hold(self, size: int) -> None:
        self._receiver.hold(size)
        self._held += size


def _signal(request: Request) -> Signal:
    signal = _SIGNALS.get(request.url.path)
    if signal is None:
        raise Refusal("path", f"nothing is at {request.url.path}: post to {', '.join(_SIGNALS)}")
    if request.method != "POST":
        raise Refusal("method", f"{request.method} is not allowed: POST is")
    return signal


def _media_type(request: Request) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in (_PROTOBUF, _JSON):
        raise Refusal("media_type", f"Content-Type {given!r} is neither {_PROTOBUF} nor {_JSON}")
    return given


def _encoding(request: Request) -> str:
    given = request.headers.get("content-encoding", "").strip().lower()
    if given in ("", "identity"):
        return ""
    if given not in _ENCODINGS:
        raise Refusal("encoding", f"Content-Encoding {given!r} is neither gzip nor deflate")
    return given


async def _drain(request: Request, receiver: Receiver) -> None:
    left = receiver.limit
    try:
        async with asyncio.timeout(receiver.timeout):
            async for part in request.stream():
                left -= len(part)
                if left < 0:
                    return
    except (TimeoutError, RuntimeError):
        # RuntimeError: the stream was read to its end, or broken off, before.
        return


def _answered(message: Message, media_type: str, status: int = 200) -> Response:
    if media_type == _JSON:
        return Response(json.dumps(MessageToDict(message)), status, media_type=_JSON)
    return Response(message.SerializeToString(), status, media_type=_PROTOBUF)


def _refused(request: Request, refusal: Refusal) -> Response:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    response = _answered(refusal.status(), given if given == _PROTOBUF else _JSON, refusal.reason.http)
    if refusal.reason.retry_seconds is not None:
        response.headers["Retry-After"] = str(refusal.reason.retry_seconds)
    if refusal.name == "method":
        response.headers["Allow"] = "POST"
    if refusal.name == "unauthorized":
        response.headers["WWW-Authenticate"] = "Bearer"
    if refusal.name == "encoding":
        response.headers["Accept-Encoding"] = ", ".join(_ENCODINGS)
    return response
