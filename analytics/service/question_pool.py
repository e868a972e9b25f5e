"""Where questions are asked: a bounded pool of threads, and each question asked once.

A question blocks, so it runs in a thread of a pool; at most `waiting` stand in line, the next is told to
come again (`TooBusy`). Who asks what is being asked, or was asked a moment ago, gets the same answer:
fifty dashboards that show one number cost one statement. A question that nobody waits for any more is
called off and gives its place free.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Any

from otel_attrib.analytics.service.bounded import BoundedStore, Limits
from otel_attrib.analytics.service.cancellable import CancellableStore
from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.problem import TooBusy
from otel_attrib.analytics.service.progress import Progress
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store

__all__ = ["Flight", "Question", "QuestionPool"]

Question = Callable[[Store, Progress], Any]
_GRACE_SECONDS = 1.0


class Flight:
    """One question and whoever waits for its answer (a single flight); used on the event loop alone."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self.progress = Progress()
        self.answer: asyncio.Future[Any]
        self.store: CancellableStore | None = None
        self.until = 0.0
        self.waiters = 0
        self.ended = False
        self.renewal: Flight | None = None

    async def landed(self) -> Any:
        """The answer; that one of those who wait is cancelled does not take it from the others."""
        return await asyncio.shield(self.answer)


class QuestionPool:
    """One for each application, used on its event loop alone."""

    def __init__(
        self, store: Callable[[], Store], limits: Limits, threads: int, waiting: int, meters: Meters
    ) -> None:
        """Ask `store()`, in `threads` threads; `StoreError` comes from `store` while it cannot be reached."""
        self._store = store
        self._limits = limits
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ask")
        self._killer = ThreadPoolExecutor(1, thread_name_prefix="call-off")
        self._most = threads + waiting
        self._meters = meters
        self._lock = Lock()
        self._open = 0
        self._inner: Store | None = None
        self._bounded: BoundedStore | None = None
        self._flights: dict[Hashable, Flight] = {}

    @contextmanager
    def asked(self, question: Question, key: Hashable, kept: float) -> Iterator[Flight]:
        """The flight of `question`, shared under a `key` with who asks the same until `kept` s after its end.

        For one second more (`kept` if that is less) the old answer is given while it is asked anew, so that
        nobody waits for what many ask all the time. Leaving before the answer is there calls the question
        off, unless somebody else waits for it.
        """
        flight = self._joined(question, key, kept) or self._begun(question, key, kept)
        flight.waiters += 1
        try:
            yield flight
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.answer.done():
                self._call_off(flight, key)

    def close(self) -> None:
        """Take no more questions; those that run end by their limit of time."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._killer.shutdown(wait=False)
        if self._bounded is not None:
            self._bounded.close()

    def _joined(self, question: Question, key: Hashable, kept: float) -> Flight | None:
        known = self._flights.get(key) if key is not None else None
        if known is not None and known.answer.done():
            known = self._renewed(known, question, key, kept)
        if known is not None:
            self._meters.shared.labels("kept" if known.answer.done() else "joined").inc()
        return known

    def _renewed(self, known: Flight, question: Question, key: Hashable, kept: float) -> Flight | None:
        """The flight whose answer counts now: the known one, or none, or the one that renews it."""
        now = time.monotonic()
        if now < known.until:
            return known
        if now >= known.until + min(kept, _GRACE_SECONDS):
            return known.renewal
        if known.renewal is None:
            try:
                known.renewal = self._begun(question, key, kept, known)
            except TooBusy:
                return None
        return known

    def _begun(self, question: Question, key: Hashable, kept: float, renewed: Flight | None = None) -> Flight:
        if self._open >= self._most:
            self._meters.refused.inc()
            raise TooBusy(f"{self._open} questions are being answered or wait: ask again in a second")
        flight = Flight()
        flight.answer = asyncio.wrap_future(self._submitted(flight, question))
        if key is not None and renewed is None:
            self._flights[key] = flight
        flight.answer.add_done_callback(partial(self._landed, flight, key, kept))
        return flight

    def _submitted(self, flight: Flight, question: Question) -> "Future[Any]":
        # In the context of who asks: lines of the log carry its trace.
        try:
            running = self._pool.submit(copy_context().run, self._run, flight, question)
        except RuntimeError as closed:
            raise StoreError("the service is stopping") from closed
        with self._lock:
            self._open += 1
        self._meters.waiting.inc()
        running.add_done_callback(self._over)
        return running

    def _run(self, flight: Flight, question: Question) -> Any:
        self._meters.waiting.dec()
        with self._meters.running.track_inprogress():
            flight.store = CancellableStore(self._limited())
            if flight.ended:
                raise StoreError("nobody waits for this question any more")
            return question(flight.store, flight.progress)

    def _over(self, done: "Future[Any]") -> None:
        if done.cancelled():
            self._meters.waiting.dec()
        with self._lock:
            self._open -= 1

    def _limited(self) -> BoundedStore:
        inner = self._store()
        with self._lock:
            if self._bounded is None or self._inner is not inner:
                self._inner, self._bounded = inner, BoundedStore(inner, self._limits)
            return self._bounded

    def _landed(self, flight: Flight, key: Hashable, kept: float, done: "asyncio.Future[Any]") -> None:
        if done.cancelled() or done.exception() is not None:
            self._forget(flight, key)
            return
        now = time.monotonic()
        flight.until = now + kept
        if key is not None:
            self._flights[key] = flight
        # Some answers are megabytes, so none is held for longer than it is given again.
        over = [name for name, each in self._flights.items() if each.answer.done() and each.until <= now]
        for name in over:
            del self._flights[name]

    def _call_off(self, flight: Flight, key: Hashable) -> None:
        self._meters.left.inc()
        self._forget(flight, key)
        flight.ended = True
        flight.answer.cancel()
        if flight.store is not None:
            self._killer.submit(flight.store.cancel)

    def _forget(self, flight: Flight, key: Hashable) -> None:
        known = self._flights.get(key)
        if known is flight:
            del self._flights[key]
        elif known is not None and known.renewal is flight:
            known.renewal = None
