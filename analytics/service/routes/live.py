"""GET /live: the tail as it is now, new reports and marks, as Server-Sent Events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.quantiles import Sliding
from otel_attrib.analytics.quantiles_object import Words
from otel_attrib.analytics.service.caller import Caller, Reader
from otel_attrib.analytics.service.describe import LIVE
from otel_attrib.analytics.service.hub import Event, Hub, Listener
from otel_attrib.analytics.service.live_events import NewEvents, quantile_now, reports_since
from otel_attrib.analytics.service.parameters import By, LookBack, Metric, Quantile, Where
from otel_attrib.analytics.service.problem import Forbidden, Unauthorized, problem_of
from otel_attrib.analytics.service.question_pool import QuestionPool
from otel_attrib.analytics.service.stream import KEEP_ALIVE, event, events
from otel_attrib.errors import UsageError
from otel_attrib.schema.store import Store

__all__ = ["router"]

router = APIRouter(tags=["live"])

KEEP_ALIVE_SECONDS = 15.0
ROWS_SECONDS = 5.0
STEPS = (1, 300)


@router.get("/live", operation_id="live", summary="The tail now, new reports and marks", responses=LIVE)
async def live(
    request: Request,
    caller: Reader,
    metric: Metric = "ttft",
    quantile: Quantile = 0.99,
    window: LookBack = "5m",
    step: Annotated[
        str, Query(max_length=20, description="Time between two numbers: 1s to 5m.", examples=["10s"])
    ] = "10s",
    by: By = "",
    where: Where = [],  # noqa: B006 -- FastAPI makes a new one for each request
    last_event_id: Annotated[
        str, Header(max_length=200, description="The `id` last seen: reports after it come first.")
    ] = "",
) -> Response:
    """`quantile` at every step; `report` and `mark` when one is stored; `problem` when a question fails.

    Questions of several listeners are asked once. Who does not read is sent away.
    """
    asked = _asked(metric, quantile, window, step, by, caller.filter(where))
    state = request.app.state
    stack = ExitStack()
    listener = stack.enter_context(state.hub.listener())
    try:
        missed = await _missed(state.questions, last_event_id, caller)
        _listen(stack, state.hub, state.questions, listener, asked, caller)
    except BaseException:
        stack.close()
        raise
    return events(_stream(stack, listener, missed, _still(request, caller)))


def _asked(metric: str, level: float, window: str, step: str, by: str, where: Filter) -> Sliding:
    asked = Words(metric, level, window, step, "1s", by, where).sliding(datetime.now(UTC))
    if not STEPS[0] <= asked.step <= STEPS[1]:
        raise UsageError(f"step {step} is not from 1s to 5m")
    asked.check()
    return asked


def _listen(
    stack: ExitStack, hub: Hub, pool: QuestionPool, listener: Listener, asked: Sliding, caller: Caller
) -> None:
    async def numbers() -> Sequence[Event]:
        return [await _ask(pool, lambda store: quantile_now(store, asked, datetime.now(UTC)))]

    unseen = NewEvents(caller.tenants)

    async def rows() -> Sequence[Event]:
        told: Sequence[Event] = await _ask(pool, unseen.ask)
        return told

    words = (asked.metric.name, asked.level, asked.window, asked.step, asked.by, asked.where)
    stack.enter_context(hub.hears(listener, words, asked.step, numbers))
    stack.enter_context(hub.hears(listener, ("rows", caller.tenants), ROWS_SECONDS, rows))


async def _missed(pool: QuestionPool, number: str, caller: Caller) -> Sequence[Event]:
    if not number:
        return ()
    missed: Sequence[Event] = await _ask(pool, lambda store: reports_since(store, number, caller.tenants))
    return missed


async def _ask(pool: QuestionPool, question: Callable[[Store], Any]) -> Any:
    with pool.asked(lambda store, _: question(store), None, 0.0) as flight:
        return await flight.landed()


def _still(request: Request, caller: Caller) -> Callable[[], None]:
    """Looks at the token again: one that is removed, over, or for other tenants now ends its streams too."""
    _, _, token = request.headers.get("authorization", "").partition(" ")

    def check() -> None:
        if request.app.state.authentication.caller(token.strip() or None).tenants != caller.tenants:
            raise Forbidden(f"{caller.name} has other tenants now: ask anew")

    return check


async def _stream(
    stack: ExitStack, listener: Listener, missed: Sequence[Event], still: Callable[[], None]
) -> AsyncIterator[bytes]:
    sent: set[str] = set()
    with stack:
        yield KEEP_ALIVE  # so that the headers are out before the first event
        for each in missed:
            sent.add(each.number)
            yield event(each.name, each.data, each.number)
        while True:
            try:
                each_or_end = await asyncio.wait_for(listener.events.get(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield KEEP_ALIVE
                continue
            if each_or_end is None:
                return
            try:
                still()
            except (Forbidden, Unauthorized) as fault:
                yield event("problem", bytes(problem_of(fault).body))
                return
            if not each_or_end.number or each_or_end.number not in sent:
                yield event(each_or_end.name, each_or_end.data, each_or_end.number)
