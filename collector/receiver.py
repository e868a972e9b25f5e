"""One OTLP request, whichever way it came: checked, kept, counted; the answer says what was kept.

The acknowledgement comes after the request is on disk (spool.py), so what a client was told is accepted
survives a crash, and what it was not told it may send again.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hmac import compare_digest
from typing import Any

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.inflate import inflate
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import Signal
from otel_attrib.collector.spool import Spool, SpoolFull
from otel_attrib.collector.validate import MOST_DAYS, Verdict, check
from otel_attrib.config import Settings

__all__ = ["Receiver", "answer"]

# Work on more bytes than this leaves the event loop, so that small requests do not wait for it.
_LARGE = 1 << 16


class Receiver:
    """The part that HTTP and gRPC share."""

    def __init__(self, settings: Settings, spool: Spool, counters: Counters) -> None:
        """Accept requests into `spool` until `stop`."""
        self.limit = settings.otlp_limit
        self._json_limit = min(settings.otlp_limit, settings.otlp_json_limit)
        self.timeout = settings.otlp_timeout
        self._token = settings.otlp_token.encode()
        self._room = settings.otlp_in_flight
        self._held = 0
        self._stopping = False
        # Of the requests that need much memory for a while, few do at a time.
        self._inflating, self._reading_json = asyncio.Semaphore(2), asyncio.Semaphore(1)
        self._reading = asyncio.Semaphore(2)
        self._items = settings.otlp_items
        self._spool = spool
        self._counters = counters

    def stop(self) -> None:
        """Refuse everything that comes from now on."""
        self._stopping = True

    def admit(self, authorization: str | None) -> None:
        """Refuse a client without the token, and everybody once the service stops."""
        if self._token:
            scheme, _, given = (authorization or "").partition(" ")
            if scheme.lower() != "bearer" or not compare_digest(given.strip().encode(), self._token):
                raise Refusal("unauthorized", "a bearer token is needed (Authorization: Bearer …)")
        if self._stopping:
            raise Refusal("stopping", "the service is stopping")

    def hold(self, size: int) -> None:
        """Count bytes as in flight; refuse when there are too many."""
        if self._held + size > self._room:
            raise Refusal("busy", f"{self._held} bytes of other requests are being worked on")
        self._held += size
        self._counters.in_flight.set(self._held)

    def release(self, size: int) -> None:
        """Give bytes back that `hold` counted."""
        self._held -= size
        self._counters.in_flight.set(self._held)

    @contextmanager
    def counting(self, signal: Signal, transport: str) -> Iterator[None]:
        """Count one request as received, and as refused when that is how it ends."""
        self._counters.received.labels(signal.name, transport).inc()
        try:
            yield
        except Refusal as refusal:
            self.refused(signal.name, refusal)
            raise
        except _LeftBehind:
            raise
        except asyncio.CancelledError:
            self.refused(signal.name, Refusal("disconnected", "the client went away"))
            raise

    def refused(self, signal: str, refusal: Refusal) -> None:
        """Count one request as refused."""
        self._counters.refused.labels(signal, refusal.name).inc()

    async def inflate(self, body: bytes, encoding: str) -> bytes:
        """Decompress up to the limit, beside the event loop when it may take long."""
        if len(body) < _LARGE // 8:
            return inflate(body, encoding, self.limit)
        async with self._inflating:
            return await asyncio.to_thread(inflate, body, encoding, self.limit)

    async def take(self, signal: Signal, body: bytes, is_json: bool = False) -> Verdict:
        """Check and keep one decompressed request; it is on disk when this returns."""
        limit = self._json_limit if is_json else self.limit
        if len(body) > limit:
            raise Refusal("too_large", f"the body is larger than {limit} bytes")
        self._counters.received_bytes.labels(signal.name).inc(len(body))
        work = partial(check, signal, body, is_json, self._items, MOST_DAYS)
        if len(body) > _LARGE:
            async with self._reading_json if is_json else self._reading:
                verdict = await asyncio.to_thread(work)
        else:
            verdict = work()
        if verdict.items:
            await self._keep(signal, verdict)
        else:
            self._count(signal, verdict, stored=True)
        return verdict

    async def _keep(self, signal: Signal, verdict: Verdict) -> None:
        """What has come this far is kept and counted, whether the client waits for the answer or not."""
        task = asyncio.ensure_future(self._store(signal, verdict))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(partial(self._count_alone, signal))
            raise _LeftBehind from None

    async def _store(self, signal: Signal, verdict: Verdict) -> None:
        try:
            stored = await asyncio.wrap_future(
                self._spool.append(signal.name, verdict.payload, verdict.items)
            )
        except SpoolFull as full:
            raise Refusal("spool_full", str(full)) from full
        self._count(signal, verdict, stored)

    def _count(self, signal: Signal, verdict: Verdict, stored: bool) -> None:
        if verdict.rejected:
            self._counters.rejected.labels(signal.name).inc(verdict.rejected)
        if stored:
            self._counters.accepted_requests.labels(signal.name).inc()
            self._counters.accepted.labels(signal.name).inc(verdict.items)
        else:
            self._counters.duplicates.labels(signal.name).inc()

    def _count_alone(self, signal: Signal, task: "asyncio.Task[None]") -> None:
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, Refusal):
            self.refused(signal.name, fault)


class _LeftBehind(asyncio.CancelledError):
    """The client went away while its request was being kept, which goes on and counts itself."""


def answer(signal: Signal, verdict: Verdict) -> Any:
    """The response message; its partial success is unset when everything was kept."""
    response = signal.response()
    if verdict.rejected:
        setattr(response.partial_success, signal.rejected, verdict.rejected)
        response.partial_success.error_message = verdict.why
    return response
