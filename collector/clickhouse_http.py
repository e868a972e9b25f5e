"""ClickHouse's HTTP interface over the embedded store, for reading: curl, clickhouse-connect, Grafana.

GET and POST, `query`, `param_*`, `database`, `default_format`, settings in the URL, every output format,
ClickHouse's headers and error codes. Users are `default` and `readonly`, and both only read
(query_guard.py). There are no sessions: every statement stands alone.
"""

import asyncio
import json
import logging
import re
import secrets
import uuid
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from hmac import compare_digest

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.inflate import inflate
from otel_attrib.collector.query_engine import Query, QueryEngine, Result
from otel_attrib.collector.query_fault import QueryFault
from otel_attrib.collector.query_request import credentials, query_of
from otel_attrib.collector.refusal import Refusal

__all__ = ["ClickHouseHttp"]

_log = logging.getLogger(__name__)
_NAME = "otel-attrib"
_USERS = ("default", "readonly")
_LONGEST = 1 << 20
_WAITING = 100
# The id comes back as a header, which holds no more than this.
_QUERY_ID = re.compile(r"[\x21-\x7e]{1,128}")
# A client has `query_seconds` to take so many bytes, however large the engine's pieces are.
_SENT = 1 << 20
_TYPES = {
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "XML": "application/xml; charset=UTF-8",
}
_BINARY = ("Native", "RowBinary", "Arrow", "Parquet", "ORC", "Avro", "Protobuf", "MsgPack", "BSON", "Npy")


class ClickHouseHttp:
    """The ASGI application of the ClickHouse port."""

    def __init__(
        self, engine: QueryEngine, counters: Counters, password: str, threads: int, seconds: float
    ) -> None:
        """Answer with `threads` statements at a time; ask for `password` unless it is empty.

        A client that takes nothing of its answer for `seconds` is left.
        """
        self._engine = engine
        self._counters = counters
        self._password = password.encode()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="query")
        self._slots = asyncio.Semaphore(threads)
        self._waiting = 0
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            # Whatever becomes of the answer, its session and its slot are given back.
            with ExitStack() as held:
                response = await self._respond(request, held)
                await response(scope, receive, self._in_time(send))
        except ClientDisconnect:
            return
        except TimeoutError:
            _log.warning("a client took nothing of its answer for %g seconds: it is left", self._seconds)

    def cancel(self) -> None:
        """End the statements that run, so that nobody has to wait for them."""
        self._engine.cancel()

    def close(self) -> None:
        """Wait for the threads; call it when no request can come any more."""
        self._pool.shutdown()

    def _in_time(self, send: Send) -> Send:
        async def bounded(message: Message) -> None:
            async with asyncio.timeout(self._seconds):
                await send(message)

        return bounded

    async def _respond(self, request: Request, held: ExitStack) -> Response:
        if request.method not in ("GET", "HEAD", "POST"):
            return Response(f"{request.method} is not allowed\n", 405, {"Allow": "GET, HEAD, POST"})
        path = request.url.path.rstrip("/")
        if path in ("/ping", "/replicas_status") or (not path and _asks_nothing(request)):
            return Response("Ok.\n", media_type="text/html; charset=UTF-8")
        if path:
            return Response(f"There is no handle {path}: use / or /ping\n", 404)
        query_id = str(uuid.uuid4())
        try:
            query_id = _query_id(request) or query_id
            response = await self._answer(request, held)
            self._counters.queries.labels("ok").inc()
        except QueryFault as fault:
            self._counters.queries.labels("refused" if fault.code in (164, 497, 452, 516) else "failed").inc()
            response = self._failed(fault)
        response.headers.update(self._headers(query_id))
        return response

    async def _answer(self, request: Request, held: ExitStack) -> Response:
        self._admit(request)
        query = query_of(request, await _body(request))
        result = await self._run(query)
        held.callback(self._release, result)
        headers = {"X-ClickHouse-Format": result.format, "X-ClickHouse-Summary": _summary(result)}
        pieces = self._whole(result)
        first = await anext(pieces, b"")
        if request.query_params.get("wait_end_of_query", "0") not in ("", "0"):
            first = b"".join([first, *[piece async for piece in pieces]])
        if not first:
            return Response(b"", 200, headers, _media_type(result.format))
        tag = secrets.token_hex(8)
        body = self._stream(pieces, first, tag)
        if _wants_gzip(request):
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            body = _gzip(body)
        headers["X-ClickHouse-Exception-Tag"] = tag
        return StreamingResponse(body, 200, headers, _media_type(result.format))

    def _admit(self, request: Request) -> None:
        user, password = credentials(request)
        known = user in _USERS
        if not known or (self._password and not compare_digest(password.encode(), self._password)):
            raise QueryFault(
                516,
                "AUTHENTICATION_FAILED",
                f"{user}: Authentication failed: password is incorrect, or there is no user with such name",
            )

    async def _run(self, query: Query) -> Result:
        if self._waiting >= _WAITING:
            raise QueryFault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", f"{self._waiting} statements are waiting")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        running = self._pool.submit(self._engine.run, query)
        try:
            return await asyncio.wrap_future(running)
        except BaseException:
            # Cancelled, it may still come to a result, which nobody else would close.
            running.add_done_callback(_close_unread)
            self._slots.release()
            raise

    async def _next(self, result: Result) -> bytes | None:
        return await asyncio.get_running_loop().run_in_executor(self._pool, result.next)

    async def _whole(self, result: Result) -> AsyncIterator[bytes]:
        while (piece := await self._next(result)) is not None:
            for begin in range(0, len(piece), _SENT):
                yield piece[begin : begin + _SENT]

    async def _stream(self, pieces: AsyncIterator[bytes], first: bytes, tag: str) -> AsyncIterator[bytes]:
        yield first
        try:
            async for piece in pieces:
                yield piece
        except QueryFault as fault:
            # The status is long sent: ClickHouse's clients look for this block at the end.
            yield _exception_block(fault.text(self._engine.version), tag)

    def _release(self, result: Result) -> None:
        # Not on the event loop: closing waits for the piece that is being made.
        self._pool.submit(result.close)
        self._slots.release()

    def _failed(self, fault: QueryFault) -> Response:
        headers = {"X-ClickHouse-Exception-Code": str(fault.code)}
        if fault.code == 516:
            headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
        return Response(
            fault.text(self._engine.version), fault.status, headers, media_type="text/plain; charset=UTF-8"
        )

    def _headers(self, query_id: str) -> dict[str, str]:
        return {
            "X-ClickHouse-Query-Id": query_id,
            "X-ClickHouse-Server-Display-Name": _NAME,
            "X-ClickHouse-Timezone": self._engine.time_zone,
        }


def _query_id(request: Request) -> str:
    given = request.query_params.get("query_id", "")
    if given and not _QUERY_ID.fullmatch(given):
        raise QueryFault(36, "BAD_ARGUMENTS", "query_id is not 1 to 128 visible ASCII characters")
    return given


def _close_unread(running: "Future[Result]") -> None:
    if not running.cancelled() and running.exception() is None:
        running.result().close()


def _asks_nothing(request: Request) -> bool:
    return request.method != "POST" and not request.query_params


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LONGEST:
            raise QueryFault(239, "QUERY_IS_TOO_LARGE", f"The statement is longer than {_LONGEST} bytes")
        parts.append(part)
    encoding = request.headers.get("content-encoding", "").lower()
    if encoding not in ("gzip", "deflate"):
        return b"".join(parts)
    try:
        return await asyncio.to_thread(inflate, b"".join(parts), encoding, _LONGEST)
    except Refusal as refusal:
        if refusal.name == "malformed":
            raise QueryFault(36, "BAD_ARGUMENTS", str(refusal)) from refusal
        raise QueryFault(239, "QUERY_IS_TOO_LARGE", str(refusal)) from refusal


def _wants_gzip(request: Request) -> bool:
    asked = request.query_params.get("enable_http_compression", "0") not in ("", "0", "false")
    accepted = request.headers.get("accept-encoding", "").lower()
    return asked and "gzip" in {each.partition(";")[0].strip() for each in accepted.split(",")}


async def _gzip(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    engine = zlib.compressobj(1, wbits=31)
    async for piece in body:
        packed = engine.compress(piece)
        if packed:
            yield packed
    yield engine.flush()


def _media_type(name: str) -> str:
    if name in _TYPES:
        return _TYPES[name]
    return "application/octet-stream" if name.startswith(_BINARY) else "text/plain; charset=UTF-8"


def _summary(result: Result) -> str:
    return json.dumps(
        {
            "read_rows": str(result.rows),
            "read_bytes": str(result.size),
            "written_rows": "0",
            "written_bytes": "0",
            "total_rows_to_read": "0",
            "result_rows": "0",
            "result_bytes": "0",
            "elapsed_ns": str(result.elapsed_ns),
        },
        separators=(",", ":"),
    )


def _exception_block(text: str, tag: str) -> bytes:
    message = text.strip()
    return f"\r\n__exception__\r\n{tag}\r\n{message}\n{len(message)} {tag}\r\n__exception__\r\n".encode()
