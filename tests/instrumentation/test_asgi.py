"""Around an ASGI application: everything passes unchanged, and each request is kept exactly once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from otel_attrib.instrumentation.asgi import RecordingApp
from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.shim import FAULTS, Faults

START = {"type": "http.response.start", "status": 200}


def piece(body: bytes, more: bool = True) -> dict[str, Any]:
    """A piece of a body."""
    return {"type": "http.response.body", "body": body, "more_body": more}


def serve(
    app: Any, path: str = "/v1/completions", method: str = "POST", messages: Any = ()
) -> tuple[list[Any], list[Timeline]]:
    """Let `app` answer one request; return what it sent and what was kept."""
    sent: list[Any] = []
    kept: list[Timeline] = []
    waiting = list(messages)

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"x-tenant-id", b"acme")]}
    recording = RecordingApp(app, {"/v1/completions": "text_completion"}, kept.append)
    try:
        asyncio.run(recording(scope, receive, send))
    finally:
        serve.kept = kept  # type: ignore[attr-defined] # for a test whose application raises
    return sent, kept


def test_messages_pass_unchanged() -> None:
    """The server's messages reach the socket as they are, in order; status and end are noted."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        await send(piece(b"a"))
        await send(piece(b"", more=False))

    sent, kept = serve(app)

    assert [START, piece(b"a"), piece(b"", more=False)] == sent
    assert [(200, "text_completion", False)] == [
        (one.status_code, one.operation, one.disconnected) for one in kept
    ]


def test_tokens_go_out_with_their_chunk() -> None:
    """A keep-alive before the first token delivers nothing; the chunk after a token delivers it."""
    seen: list[int] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        timeline = CURRENT.get()
        assert timeline is not None
        sequence = timeline.add("x", 3, True)
        assert sequence is not None
        await send(START)
        await send(piece(b": keep-alive\n\n"))
        seen.append(len(sequence.stamps))
        sequence.took(0, 1)
        await send(piece(b"data: token\n\n"))
        seen.append(len(sequence.stamps))
        await send(piece(b"", more=False))

    serve(app)

    assert [0, 1] == seen


def test_the_hosts_exception_passes() -> None:
    """What the server raises is raised as it is, and its request is kept with the error's name."""
    fault = KeyError("the host's own")

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise fault

    with pytest.raises(KeyError) as raised:
        serve(app)

    assert fault is raised.value
    assert ["KeyError"] == [one.error for one in serve.kept]  # type: ignore[attr-defined] # set by serve


def test_client_hangs_up() -> None:
    """A disconnect before the last byte makes the request aborted; one after it does not."""

    async def early(_scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await receive()
        await send(piece(b"", more=False))

    async def late(_scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send(piece(b"", more=False))
        await receive()

    gone = [{"type": "http.disconnect"}]

    assert [True] == [one.disconnected for one in serve(early, messages=gone)[1]]
    assert [False] == [one.disconnected for one in serve(late, messages=gone)[1]]


@pytest.mark.parametrize(
    ("path", "method"), [("/metrics", "POST"), ("/v1/completions", "GET")], ids=["another path", "no POST"]
)
def test_other_requests_are_forgotten(path: str, method: str) -> None:
    """A request that is not for the model gives no span."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        await send(piece(b"ok", more=False))

    sent, kept = serve(app, path=path, method=method)

    assert 2 == len(sent)
    assert [] == kept


def test_unknown_path_that_reaches_the_engine() -> None:
    """A custom route counts as soon as it has given the engine something to do."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        timeline = CURRENT.get()
        assert timeline is not None
        timeline.add("x", 3, False)
        await send(START)
        await send(piece(b"ok", more=False))

    assert 1 == len(serve(app, path="/my/route")[1])


def test_a_mounted_application_does_not_count_twice() -> None:
    """An application inside an application sees the same request and leaves it to the outer one."""
    inner: list[Timeline] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        await send(piece(b"ok", more=False))

    nested = RecordingApp(app, {"/v1/completions": "text_completion"}, inner.append)

    assert 1 == len(serve(nested)[1])
    assert [] == inner


def test_our_own_failure_is_not_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """When stamping fails on every message the answer still goes out whole, and the failures are counted."""
    monkeypatch.setattr("otel_attrib.instrumentation.asgi.FAULTS", faults := Faults())

    def broken(self: Timeline) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Timeline, "end", broken)

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        await send(piece(b"ok", more=False))

    before = FAULTS.counts["request end"]
    sent, kept = serve(app)

    assert [START, piece(b"ok", more=False)] == sent
    assert [] == kept
    assert 1 == faults.counts["response chunk"]
    assert before + 1 == FAULTS.counts["request end"]


def test_no_timeline_no_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """When even the beginning fails, the request is served without us."""

    def broken(*_args: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("otel_attrib.instrumentation.asgi.Timeline", broken)

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)

    served: Callable[[], Any] = lambda: serve(app)  # noqa: E731 - named for the reader

    assert ([START], []) == served()
