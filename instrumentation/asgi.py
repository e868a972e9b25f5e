"""An ASGI application around the server's own that stamps arrival, chunks and end of each request.

Works for any ASGI server of an LLM engine. It adds one comparison and at most one stamp to a
chunk; requests that turn out not to be for the model are forgotten.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from otel_attrib.instrumentation.recorder import CURRENT, Timeline
from otel_attrib.instrumentation.shim import FAULTS, guarded

__all__ = ["RecordingApp"]

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

SEEN = "otel_attrib"
"""Key in the scope of a request that is being recorded: a mounted application must not do it twice."""


class RecordingApp:
    """Wraps `app`; a request on one of `operations` (path → operation) or given to the engine is kept."""

    def __init__(self, app: App, operations: Mapping[str, str], keep: Callable[[Timeline], None]) -> None:
        """Call `keep(timeline)` once for every recorded request when it is over."""
        self.app = app
        self.operations = operations
        self.begin = guarded("request arrival", self._begin)
        self.finish = guarded("request end", self._finish)
        self.keep = keep

    def _begin(self, scope: MutableMapping[str, Any]) -> Timeline:
        path = scope["path"]
        timeline = Timeline(self.operations.get(path, ""), path, scope["headers"])
        timeline.scope = scope
        scope[SEEN] = timeline
        return timeline

    def _finish(self, timeline: Timeline) -> None:
        timeline.end()
        timeline.path = getattr(timeline.scope.get("route"), "path", timeline.path)
        timeline.scope = None
        if timeline.operation or timeline.sequences:
            self.keep(timeline)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection."""
        timeline = None
        if scope["type"] == "http" and scope["method"] == "POST" and SEEN not in scope:
            timeline = self.begin(scope)
        if timeline is None:
            await self.app(scope, receive, send)
            return
        token = CURRENT.set(timeline)
        try:
            await self.app(scope, watching(timeline, receive), stamping(timeline, send))
        except BaseException as error:
            timeline.error = timeline.error or type(error).__name__
            raise
        finally:
            CURRENT.reset(token)
            self.finish(timeline)


def watching(timeline: Timeline, receive: Receive) -> Receive:
    """Note when the client hangs up before the answer is complete."""

    async def receive_(*args: Any) -> Message:
        message = await receive(*args)
        if message["type"] == "http.disconnect" and not timeline.ended:
            timeline.disconnected = True
        return message

    return receive_


def stamping(timeline: Timeline, send: Send) -> Send:
    """Stamp the tokens that go out with each chunk, and the last byte."""
    unwritten = timeline.unwritten

    def send_(message: Message) -> Awaitable[None]:
        try:
            if unwritten:  # then it is a piece of the body
                timeline.wrote()
                if not message.get("more_body", False):
                    timeline.end()
            else:
                plain(timeline, message)
        except Exception as error:
            FAULTS.count("response chunk", error)
        return send(message)

    return send_


def plain(timeline: Timeline, message: Message) -> None:
    """Note a message that carries no token: the head, the end, an answer in one piece, a keep-alive."""
    if message["type"] == "http.response.start":
        timeline.status_code = message["status"]
    elif message["type"] == "http.response.body" and not message.get("more_body", False):
        timeline.end()
