"""One HTTP/1.1 exchange over a fresh loopback connection, stamped as the bytes come in.

The demonstration measures from outside what the shim measures inside, so nothing here
knows the shim: plain sockets, the client's own monotonic clock, and the events counted
as they arrive. Stamps are in nanoseconds of CLOCK_MONOTONIC, taken right after the read.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Exchange", "exchange"]

LINE_LIMIT = 1 << 22


@dataclass(slots=True)
class Exchange:
    """What the client saw of one request; `None` where it never came to that."""

    sent_wall_ns: int = 0
    sent_ns: int = 0
    http_status: int | None = None
    first_body_ns: int | None = None
    events_ns: list[int] = field(default_factory=list)
    end_ns: int | None = None
    given_up: bool = False
    truncated: bool = False
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


async def exchange(
    port: int,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    abort_after: int | None = None,
    body_after_s: float = 0.0,
) -> Exchange:
    """Send one request and read the answer; hang up after `abort_after` events where that is given.

    A client on a slow line sends its body `body_after_s` after the head.
    """
    seen = Exchange()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=LINE_LIMIT)
    try:
        seen.sent_wall_ns, seen.sent_ns = time.time_ns(), time.monotonic_ns()
        writer.write(_head(port, path, headers, body))
        if body_after_s:
            await writer.drain()
            await asyncio.sleep(body_after_s)
        writer.write(body)
        await writer.drain()
        if abort_after == 0:
            # Gone while the server has not answered yet.
            await asyncio.sleep(0.004)
            seen.given_up = True
        else:
            await _read(reader, seen, abort_after)
    except (OSError, asyncio.IncompleteReadError):
        seen.truncated = True
    finally:
        seen.end_ns = time.monotonic_ns()
        # A client that leaves resets the connection; only then does the server notice at once.
        writer.transport.abort() if seen.given_up else writer.close()
    return seen


def _head(port: int, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def _read(reader: asyncio.StreamReader, seen: Exchange, abort_after: int | None) -> None:
    status = await reader.readuntil(b"\r\n")
    seen.http_status = int(status.split()[1])
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    pieces = _chunks(reader) if b"transfer-encoding: chunked" in head else _whole(reader)
    streamed = b"text/event-stream" in head
    rest = b""
    async for piece in pieces:
        now = time.monotonic_ns()
        seen.first_body_ns = seen.first_body_ns or now
        rest += piece
        if streamed:
            *events, rest = rest.split(b"\n\n")
            for event in events:
                _note_event(event, now, seen)
        if abort_after is not None and len(seen.events_ns) >= abort_after:
            seen.given_up = True
            return
    if not streamed:
        _note_usage(rest, seen)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def _whole(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(1 << 16):
        yield piece


def _note_event(event: bytes, now: int, seen: Exchange) -> None:
    data = event.removeprefix(b"data: ")
    if data == b"[DONE]" or event.startswith(b":"):
        return
    # The last event carries the usage and no choice; any other one carries output.
    if b'"choices":[]' not in data.replace(b" ", b""):
        seen.events_ns.append(now)
    _note_usage(data, seen)


def _note_usage(data: bytes, seen: Exchange) -> None:
    if b'"usage"' not in data:
        return
    usage = json.loads(data).get("usage") or {}
    seen.prompt_tokens = usage.get("prompt_tokens")
    seen.output_tokens = usage.get("completion_tokens")
    seen.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
