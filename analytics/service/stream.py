"""Long answers as Server-Sent Events: `progress` as it comes, then `result` or `problem`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from otel_attrib.analytics.service.problem import told_problem
from otel_attrib.analytics.service.question_pool import Flight

__all__ = ["EVENT_STREAM", "KEEP_ALIVE", "event", "events", "stream", "wants_stream"]

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = b": still here\n\n"
"""A comment, so that no proxy takes a quiet stream for a dead one."""

_LOOK_SECONDS = 0.1
_KEEP_ALIVE_SECONDS = 10.0


def wants_stream(request: Request) -> bool:
    """Whether the client asks for events."""
    accepted = request.headers.get("accept", "").lower().split(",")
    return EVENT_STREAM in {each.partition(";")[0].strip() for each in accepted}


def event(name: str, data: bytes, number: str = "") -> bytes:
    """One event; `data` is one line."""
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {name}\ndata: ".encode() + data + b"\n\n"


def events(body: AsyncIterator[bytes]) -> Response:
    """A response of events."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(body, 200, headers, EVENT_STREAM)


def stream(asked: AbstractContextManager[Flight]) -> Response:
    """The events of one question; the question begins now, so that a refusal is an ordinary problem."""
    flight = asked.__enter__()
    return events(_told(asked, flight))


async def _told(asked: AbstractContextManager[Flight], flight: Flight) -> AsyncIterator[bytes]:
    try:
        async for piece in _progress(flight):
            yield piece
        yield _last(flight)
    finally:
        asked.__exit__(None, None, None)


async def _progress(flight: Flight) -> AsyncIterator[bytes]:
    told, quiet = None, 0.0
    while not flight.answer.done():
        await asyncio.wait((flight.answer,), timeout=_LOOK_SECONDS)
        quiet += _LOOK_SECONDS
        stage = flight.progress.stage
        if stage is not None and stage != told:
            told, quiet = stage, 0.0
            yield event("progress", _line(asdict(stage)))
        elif quiet >= _KEEP_ALIVE_SECONDS:
            quiet = 0.0
            yield KEEP_ALIVE


def _last(flight: Flight) -> bytes:
    fault = flight.answer.exception()
    if fault is None:
        return event("result", flight.answer.result().body)
    if not isinstance(fault, Exception):
        raise fault
    return event("problem", bytes(told_problem("a streamed question", fault).body))


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode()
