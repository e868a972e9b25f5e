"""The way from the agent to the receiver of the same process: no socket, the same checks and counts."""

import asyncio

from otel_attrib.collector.agent.transport import Answer
from otel_attrib.collector.receiver import Receiver
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import METRICS

__all__ = ["Inside"]

_LONGEST_S = 10.0


class Inside:
    """A transport into the receiver that runs on `loop`; to be used from other threads."""

    where = "the receiver of this process"

    def __init__(self, receiver: Receiver, loop: asyncio.AbstractEventLoop) -> None:
        """Hand requests to `receiver`."""
        self._receiver = receiver
        self._loop = loop

    def send(self, body: bytes) -> Answer:
        """Keep it as if it had come over a socket; on disk when this returns."""
        if self._loop.is_closed():
            return Answer(again=True, kept=False, why="the service has stopped")
        future = asyncio.run_coroutine_threadsafe(self._take(body), self._loop)
        try:
            return future.result(_LONGEST_S)
        except TimeoutError:
            # What is being kept goes on, and is recognised when it comes again.
            return Answer(again=True, kept=False, why="the receiver is busy")

    def close(self) -> None:
        """Nothing is open."""

    async def _take(self, body: bytes) -> Answer:
        try:
            with self._receiver.counting(METRICS, "agent"):
                self._receiver.hold(len(body))
                try:
                    verdict = await self._receiver.take(METRICS, body)
                finally:
                    self._receiver.release(len(body))
        except Refusal as refusal:
            wait_s = refusal.reason.retry_seconds
            return Answer(wait_s is not None, wait_s, False, why=str(refusal))
        return Answer(rejected=verdict.rejected, why=verdict.why)
