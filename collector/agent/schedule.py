"""Every reader at its own rate, in as few threads as that takes.

All readers start in one lane, a thread that reads whatever is due. Reads fall on multiples of their interval,
so that sources of one rate share a wake-up. A reader that turns out slow gets a lane of its own; and when a
read hangs, the others leave its lane within a quarter of a second.
"""

import heapq
from math import floor
from threading import Event, Lock, Thread, get_ident

from otel_attrib.collector.agent.clock import Clock
from otel_attrib.collector.agent.reader import Reader

__all__ = ["SLOW_S", "STUCK_S", "Lane", "Lanes", "next_due"]

SLOW_S = 0.02
"""A read that takes longer, three times in a row, moves to a lane of its own."""
STUCK_S = 0.25
"""A read that takes longer is left alone in its lane."""
_SLOW_TIMES = 3
_IDLE_S = 3600.0


def next_due(due: float, interval: float, now: float) -> tuple[float, int]:
    """When a reader that was due at `due` is due again, on its grid, and how many turns it has missed."""
    # Half an interval at least: a first read, which is on no grid, is not followed by one a moment later.
    following = (floor(due / interval + 0.5) + 1) * interval
    missed = floor((now - following) / interval) + 1 if following <= now else 0
    return following + missed * interval, missed


class Lane:
    """Readers that one thread reads, one after the other."""

    def __init__(self, clock: Clock) -> None:
        """Empty; `start` makes the thread."""
        self._clock = clock
        self._heap: list[tuple[float, int, Reader]] = []
        self._lock = Lock()
        self._bell = Event()
        self._ending = False
        self._order = 0
        self._slow: dict[Reader, int] = {}
        self._thread = Thread(target=self._run, name="agent-lane", daemon=True)
        self.reading: tuple[Reader, float] | None = None
        """What is being read now, and since when."""
        self.cpu_s = 0.0
        """CPU time of the thread so far."""

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def add(self, reader: Reader, due: float) -> None:
        """Read this one too, first at `due`."""
        self._push(reader, due)
        self._bell.set()

    def give_up(self, but: Reader) -> list[tuple[float, Reader]]:
        """Hand over every reader that waits here, except `but`, with the time at which it is due."""
        with self._lock:
            given = [(due, reader) for due, _, reader in self._heap if reader is not but]
            self._heap = [entry for entry in self._heap if entry[2] is but]
            return given

    def step(self) -> float:
        """Read everything that is due; the seconds until something is again."""
        while (entry := self._due()) is not None:
            due, _, reader = entry
            self.reading = reader, self._clock.steady_s()
            reader.read()
            self.reading = None
            again, missed = next_due(due, reader.interval_s, self._clock.steady_s())
            reader.book.missed += missed
            self._note(reader)
            self._push(reader, again)
        self.cpu_s = self._clock.thread_s()
        with self._lock:
            return self._heap[0][0] - self._clock.steady_s() if self._heap else _IDLE_S

    def offender(self) -> Reader | None:
        """A reader that hangs, or has been slow again and again, while others share its lane."""
        if (reading := self.reading) and self._heap and self._clock.steady_s() - reading[1] > STUCK_S:
            return reading[0]
        if len(self._heap) < 2:
            return None
        return next((reader for reader, times in self._slow.items() if times >= _SLOW_TIMES), None)

    def end(self) -> None:
        """Ask the thread to end after the read that it is at."""
        self._ending = True
        self._bell.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end; whether it came."""
        if self._thread.ident not in (None, get_ident()):
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ending:
            wait = self.step()
            if wait > 0:
                self._bell.wait(wait)
            self._bell.clear()

    def _push(self, reader: Reader, due: float) -> None:
        with self._lock:
            self._order += 1
            heapq.heappush(self._heap, (due, self._order, reader))

    def _due(self) -> tuple[float, int, Reader] | None:
        with self._lock:
            if self._ending or not self._heap or self._heap[0][0] > self._clock.steady_s():
                return None
            return heapq.heappop(self._heap)

    def _note(self, reader: Reader) -> None:
        slow = reader.book.duration_s > SLOW_S
        self._slow[reader] = self._slow.get(reader, 0) + 1 if slow else 0


class Lanes:
    """All lanes; `look` is to be called a few times a second."""

    def __init__(self, clock: Clock | None = None) -> None:
        """One lane, empty."""
        self._clock = clock or Clock()
        self._lanes = [Lane(self._clock)]
        self._shared = self._lanes[0]
        self._running = False

    def __len__(self) -> int:
        """How many lanes, and so threads, there are."""
        return len(self._lanes)

    @property
    def cpu_s(self) -> float:
        """CPU time of all lanes so far."""
        return sum(lane.cpu_s for lane in self._lanes)

    def start(self) -> None:
        """Begin to read."""
        self._running = True
        for lane in self._lanes:
            lane.start()

    def add(self, reader: Reader) -> None:
        """Read this one too, at once."""
        self._shared.add(reader, self._clock.steady_s())

    def look(self) -> None:
        """Part what is slow, or hangs, from what is not: it keeps its thread, and the others move."""
        for lane in tuple(self._lanes):
            if (offender := lane.offender()) is None:
                continue
            others = lane.give_up(but=offender)
            if lane is self._shared:
                self._shared = self._new_lane()
            for due, reader in others:
                self._shared.add(reader, due)

    def stop(self, seconds: float) -> list[Reader]:
        """End every lane; the readers that are still at a read after so many seconds."""
        for lane in self._lanes:
            lane.end()
        until = self._clock.steady_s() + seconds
        left = [lane for lane in self._lanes if not lane.join(max(0.0, until - self._clock.steady_s()))]
        return [reading[0] for lane in left if (reading := lane.reading) is not None]

    def _new_lane(self) -> Lane:
        lane = Lane(self._clock)
        self._lanes.append(lane)
        if self._running:
            lane.start()
        return lane
