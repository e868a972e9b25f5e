"""The sink that sends: readings gathered, encoded, sent every few seconds, kept while the collector is away.

`take` only appends. One thread does the rest, and every reading ends in one of three counts: sent, lost (with
the reason), or still waiting.
"""

import logging
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from otel_attrib.collector.agent.backlog import Backlog
from otel_attrib.collector.agent.clock import Clock
from otel_attrib.collector.agent.encode import Batch, Encoder
from otel_attrib.collector.agent.readings import Readings
from otel_attrib.collector.agent.transport import Answer, Transport

__all__ = ["BACKLOG_BYTES", "Export", "Sent"]

_log = logging.getLogger(__name__)

BACKLOG_BYTES = 32 << 20
"""Of compressed requests that wait while the collector is away."""
# Not yet encoded readings that may wait while one request takes long; then new ones are lost.
_MOST_GATHERED = 2_000_000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
# What a collector asks for is waited within these bounds: no storm of tries, and no silence for days.
_LEAST_ASKED_S, _MOST_ASKED_S = 0.5, 3600.0


@dataclass(slots=True)
class Sent:
    """What became of readings; all counts only grow."""

    sent: int = 0
    requests: int = 0
    bytes: int = 0
    """Of requests, before compression."""
    lost: Counter[str] = field(default_factory=Counter)
    """Readings by why they were lost: busy, buffer_full, refused, rejected, stopped, fault."""
    cpu_s: float = 0.0


class Export:
    """Sends what it takes to one collector."""

    def __init__(
        self,
        to: Transport,
        resource: Mapping[str, str],
        every_s: float,
        limit: int = BACKLOG_BYTES,
        clock: Clock | None = None,
    ) -> None:
        """Send every `every_s` seconds; `start` makes the thread."""
        self.counts = Sent()
        self._to = to
        self._every_s = every_s
        self._clock = clock or Clock()
        self._encoder = Encoder(resource)
        self._backlog = Backlog(limit)
        self._limit = limit
        self._gathered: list[Batch] = []
        self._size = 0
        self._lock = Lock()
        self._failures = 0
        self._not_before = 0.0
        self._said: set[str] = set()
        self._ending = Event()
        self._until = 0.0
        self._thread = Thread(target=self._run, name="agent-export", daemon=True)

    @property
    def waiting(self) -> int:
        """Readings that are neither sent nor lost yet."""
        return self._size + self._backlog.points

    def take(self, ns: int, readings: Readings) -> None:
        """Keep them for the next request."""
        with self._lock:
            if self._size + len(readings) > _MOST_GATHERED:
                self.counts.lost["busy"] += len(readings)
                return
            self._gathered.append((ns, readings))
            self._size += len(readings)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Send what is there, within so many seconds; what cannot be sent is counted as lost and said."""
        self._until = self._clock.steady_s() + seconds
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        else:
            self._last()
        if left := self.waiting:
            self.counts.lost["stopped"] += left
            _log.warning("%s: %d readings were not sent before the end, and are lost", self._to.where, left)
        self._to.close()

    def flush(self) -> float:
        """Encode what was gathered and send what may be sent; the seconds until that is to be done again."""
        self._encode()
        while self._backlog and self._clock.steady_s() >= self._not_before and not self._ending.is_set():
            self._settle(self._to.send(self._backlog.first().body()))
        if dropped := self._backlog.pack():
            self._lose("buffer_full", dropped, f"{self._limit >> 20} MiB of readings wait")
        self.counts.cpu_s = self._clock.thread_s()
        if not self._backlog:
            return self._every_s
        return min(self._every_s, max(0.0, self._not_before - self._clock.steady_s()))

    def _run(self) -> None:
        wait = self._every_s
        while not self._ending.wait(wait):
            try:
                wait = self.flush()
            except Exception:  # what it was at is counted as lost; what comes is not
                _log.exception("a request failed")
                wait = self._every_s
        self._last()

    def _last(self) -> None:
        """Send what is left, in the thread that sends: one that hangs is left behind."""
        self._encode()
        while self._backlog and self._clock.steady_s() < self._until:
            answer = self._to.send(self._backlog.first().body())
            if answer.again:
                return
            self._settle(answer)

    def _encode(self) -> None:
        with self._lock:
            gathered, self._gathered, self._size = self._gathered, [], 0
        left = sum(len(readings) for _, readings in gathered)
        try:
            for body, points in self._encoder.requests(gathered):
                left -= points
                self.counts.requests += 1
                self.counts.bytes += len(body)
                self._backlog.add(body, points)
        finally:
            self.counts.lost["fault"] += left

    def _settle(self, answer: Answer) -> None:
        """Act on the answer to the oldest request."""
        if answer.again:
            self._failures += 1
            self._not_before = self._clock.steady_s() + self._wait(answer.wait_s)
            self._say(
                "away", f"does not take readings ({answer.why}): they wait, up to {self._limit >> 20} MiB"
            )
            return
        points = self._backlog.pop().points
        self._failures = 0
        if answer.kept:
            self.counts.sent += points - answer.rejected
            self._back()
        else:
            self._lose("refused", points, answer.why)
        if answer.rejected:
            self._lose("rejected", answer.rejected, answer.why)

    def _wait(self, asked: float | None) -> float:
        """What the collector asks for, else twice as long each time, with a little chance in it."""
        if asked is not None:
            return min(max(asked, _LEAST_ASKED_S), _MOST_ASKED_S)
        longest = min(_FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 8), _LONGEST_WAIT_S)
        return longest * random.uniform(0.75, 1.0)

    def _lose(self, reason: str, points: int, why: str) -> None:
        self.counts.lost[reason] += points
        what = "the oldest are dropped" if reason == "buffer_full" else "readings are lost, and counted"
        self._say(reason, f"{why}: {what}")

    def _say(self, reason: str, text: str) -> None:
        """Once, until the collector has answered again."""
        if reason not in self._said:
            self._said.add(reason)
            _log.warning("%s: %s", self._to.where, text)

    def _back(self) -> None:
        if "away" in self._said:
            _log.warning(
                "%s: takes readings again, %d are lost so far", self._to.where, self.counts.lost.total()
            )
            self._said -= {"away", "buffer_full"}
