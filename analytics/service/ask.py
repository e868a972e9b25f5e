"""What a route asks with: the question pool, for one request, until its client goes away.

What is the same question: path, query, and the tenants that the caller sees; a POST is never shared.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from otel_attrib.analytics.service.answer import encode, respond
from otel_attrib.analytics.service.progress import Progress
from otel_attrib.analytics.service.question_pool import Flight, QuestionPool
from otel_attrib.analytics.service.stream import stream, wants_stream
from otel_attrib.schema.store import Store

__all__ = ["KEPT_SECONDS", "Ask", "Asks"]

T = TypeVar("T")
KEPT_SECONDS = 1.0
"""How long an answer is given again to who asks the same."""


class Ask:
    """The question pool for one request; an answer is shared with others, so it must not be changed."""

    def __init__(self, pool: QuestionPool, request: Request) -> None:
        """Ask for `request`."""
        self._pool = pool
        self._request = request
        self._number = 0

    async def __call__(self, question: Callable[[Store], T], kept: float = KEPT_SECONDS) -> T:
        """The answer of `question`, which gets a store with limits and runs in a thread."""
        with self._pool.asked(lambda store, _: question(store), self._key(), kept) as flight:
            answer: T = await self._waited(flight)
            return answer

    async def respond(
        self, question: Callable[[Store], Mapping[str, Any]], kept: float = KEPT_SECONDS
    ) -> Response:
        """The answer as a response: written once for all who share it, 304 for who has it."""
        return respond(self._request, await self(lambda store: encode(question(store)), kept))

    async def respond_long(
        self, question: Callable[[Store, Progress], Mapping[str, Any]], kept: float = KEPT_SECONDS
    ) -> Response:
        """As `respond`; with `Accept: text/event-stream` progress comes first, as events."""
        asked = self._pool.asked(lambda store, progress: encode(question(store, progress)), self._key(), kept)
        if wants_stream(self._request):
            return stream(asked)
        with asked as flight:
            return respond(self._request, await self._waited(flight))

    async def _waited(self, flight: Flight) -> Any:
        """The answer, unless the client goes away first."""
        if flight.answer.done():
            return flight.answer.result()
        gone = asyncio.ensure_future(_gone(self._request))
        try:
            await asyncio.wait((flight.answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if flight.answer.done():
                return flight.answer.result()
            raise ClientDisconnect
        finally:
            gone.cancel()

    def _key(self) -> Hashable:
        request = self._request
        self._number += 1
        if request.method not in ("GET", "HEAD"):
            return None
        caller = getattr(request.state, "caller", None)
        tenants = caller.tenants if caller is not None else None
        return request.url.path, tuple(sorted(request.query_params.multi_items())), tenants, self._number


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _ask(request: Request) -> Ask:
    return Ask(request.app.state.questions, request)


Asks = Annotated[Ask, Depends(_ask)]
"""What a route asks with: `await ask(lambda store: …)`, or `await ask.respond(lambda store: {…})`."""
