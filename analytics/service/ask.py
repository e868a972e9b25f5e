"""Questions to the store from many callers: a bounded pool of threads, and each question asked once.

A question blocks, so it runs in a thread of a pool; at most `waiting` stand in line, the next is told to
come again (`TooBusy`). Who asks what is being asked, or was asked a moment ago, gets the same answer:
fifty dashboards that show one number cost one statement. What is the same: path, query, and the tenants
that the caller sees.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from starlette.requests import Request

from otel_attrib.analytics.service.bounded import BoundedStore, Limits
from otel_attrib.analytics.service.problem import TooBusy
from otel_attrib.schema.store import Store

__all__ = ["Ask", "Asks", "Desk"]

T = TypeVar("T")
KEPT_SECONDS = 1.0
_ANSWERS_AT_MOST = 256


@dataclass(slots=True)
class _Kept:
    """One question: its answer, or that it is on its way; after `until` it is asked anew."""

    answer: "asyncio.Future[Any]"
    until: float


class Desk:
    """Where questions are asked; one for each application, used on its event loop alone."""

    def __init__(self, store: Callable[[], Store], limits: Limits, threads: int, waiting: int = 100) -> None:
        """Ask `store()`, in `threads` threads; `StoreError` comes from `store` while it cannot be reached."""
        self._store = store
        self._limits = limits
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ask")
        self._threads, self._most = threads, waiting
        self._lock = Lock()
        self._inner: Store | None = None
        self._asked = 0
        self._kept: dict[Hashable, _Kept] = {}

    async def ask(
        self, question: Callable[[Store], T], key: Hashable = None, kept: float = KEPT_SECONDS
    ) -> T:
        """The answer of `question`; with a `key`, shared with whoever asks the same within `kept` seconds."""
        if key is None:
            return await self._run(question)
        known = self._kept.get(key)
        if known is None or (known.answer.done() and known.until <= time.monotonic()):
            known = self._kept[key] = _Kept(asyncio.ensure_future(self._run(question)), 0.0)
            known.answer.add_done_callback(partial(self._keep, key, kept))
        # Shielded: that one of those who wait goes away must not take the answer from the others.
        answer: T = await asyncio.shield(known.answer)
        return answer

    def close(self) -> None:
        """Take no more questions; those that run end by their limit of time."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._inner is not None:
            self._store_here.close()

    def _keep(self, key: Hashable, kept: float, done: "asyncio.Future[Any]") -> None:
        if done.cancelled() or done.exception() is not None:
            self._kept.pop(key, None)
            return
        now = time.monotonic()
        self._kept[key].until = now + kept
        if len(self._kept) > _ANSWERS_AT_MOST:
            over = [name for name, each in self._kept.items() if each.answer.done() and each.until <= now]
            for name in over:
                del self._kept[name]

    async def _run(self, question: Callable[[Store], T]) -> T:
        if self._asked >= self._threads + self._most:
            raise TooBusy(f"{self._most} questions wait already: ask again in a second", after=1)
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, question)
        finally:
            self._asked -= 1

    def _answer(self, question: Callable[[Store], T]) -> T:
        return question(self._bounded())

    def _bounded(self) -> BoundedStore:
        inner = self._store()
        with self._lock:
            if self._inner is not inner:
                self._inner, self._store_here = inner, BoundedStore(inner, self._limits)
            return self._store_here


class Ask:
    """The desk for one request: what it asks is shared with requests of the same words and tenants."""

    def __init__(self, desk: Desk, request: Request) -> None:
        """Ask for `request`."""
        self._desk = desk
        self._request = request
        self._number = 0

    async def __call__(self, question: Callable[[Store], T], kept: float = KEPT_SECONDS) -> T:
        """The answer of `question`, which gets a store with limits; the answer is shared: do not change it.

        A POST is never shared.
        """
        self._number += 1
        return await self._desk.ask(question, self._key(), kept)

    def _key(self) -> Hashable:
        request = self._request
        if request.method not in ("GET", "HEAD"):
            return None
        caller = getattr(request.state, "caller", None)
        tenants = caller.tenants if caller is not None else ("",)
        return request.url.path, tuple(sorted(request.query_params.multi_items())), tenants, self._number


def _ask(request: Request) -> Ask:
    return Ask(request.app.state.desk, request)


Asks = Annotated[Ask, Depends(_ask)]
"""What a route asks with: `await ask(lambda store: …)`."""
