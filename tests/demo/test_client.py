"""The client of the demonstration against servers that answer from a script."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from otel_attrib.demo.client import Exchange, exchange

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
TOKEN = b'data: {"choices":[{"text":"x"}]}\n\n'
USAGE = (
    b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,'
    b'"prompt_tokens_details":{"cached_tokens":4}}}\n\n'
)
DONE = b"data: [DONE]\n\n"
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    """One chunk of chunked transfer coding."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def ask(answer: Answer, abort_after: int | None = None) -> Exchange:
    """Ask a server that reads one request and then does as `answer` says."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            await answer(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def both() -> Exchange:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await exchange(port, "/v1/completions", {"x-a": "b"}, b"{}", abort_after)

    return asyncio.run(both())


def test_stream() -> None:
    """Each event with output is stamped in order, the usage is read, and the end comes last."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(TOKEN))
        await writer.drain()
        await asyncio.sleep(0.02)
        # An event may be cut anywhere between two chunks.
        writer.write(chunk(TOKEN[:9]) + chunk(TOKEN[9:]) + chunk(USAGE) + chunk(DONE) + b"0\r\n\r\n")

    seen = ask(answer)

    assert (200, 7, 4, 2, False) == (
        seen.http_status,
        seen.prompt_tokens,
        seen.cached_tokens,
        seen.output_tokens,
        seen.truncated,
    )
    assert 2 == len(seen.events_ns)
    assert seen.end_ns is not None
    assert seen.sent_ns < seen.events_ns[0] < seen.events_ns[1] - 15_000_000 < seen.end_ns


def test_whole() -> None:
    """An answer in one piece has its first byte and its usage, and no events."""
    body = b'{"choices":[{"text":"x"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}'

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)

    seen = ask(answer)

    assert (200, 3, 1, []) == (seen.http_status, seen.prompt_tokens, seen.output_tokens, seen.events_ns)
    assert seen.first_body_ns is not None


def test_hanging_up() -> None:
    """A client told to leave after one event takes no second one."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(TOKEN))
        await writer.drain()
        await asyncio.sleep(0.2)
        writer.write(chunk(TOKEN))

    seen = ask(answer, abort_after=1)

    assert (True, 1) == (seen.given_up, len(seen.events_ns))


@pytest.mark.parametrize(
    "sent", [STREAM_HEAD + chunk(TOKEN), STREAM_HEAD + b"20\r\nhalf", b""], ids=["no end", "half", "nothing"]
)
def test_broken_answers_are_truncated(sent: bytes) -> None:
    """A server that breaks off is noted, never raised."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(sent)

    assert ask(answer).truncated
