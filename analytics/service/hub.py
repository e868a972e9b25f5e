"""What happens, to everybody who listens: one poller for each distinct question, however many ask it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.problem import TooBusy, told_problem

__all__ = ["Event", "Hub", "Listener", "Poll"]

_UNREAD_AT_MOST = 256


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `number` is what Last-Event-ID sends back, empty where there is nothing to resume."""

    name: str
    data: bytes
    number: str = ""


Poll = Callable[[], Awaitable[Sequence[Event]]]
"""Asks once, and returns what is new."""


class Listener:
    """One connection: the events that it has still to send. None ends it."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.events: asyncio.Queue[Event | None] = asyncio.Queue(_UNREAD_AT_MOST)

    def put(self, event: Event | None) -> None:
        """Hand over one event; whoever does not read them is sent away, and resumes where it was."""
        if self.events.full():
            while not self.events.empty():
                self.events.get_nowait()
            event = None
        self.events.put_nowait(event)


@dataclass(slots=True)
class _Channel:
    """One question, polled while somebody listens; whoever comes later begins with the `last` events."""

    listeners: set[Listener]
    task: "asyncio.Task[None]"
    last: Sequence[Event] = ()


class Hub:
    """One for each application, used on its event loop alone."""

    def __init__(self, most: int, meters: Meters) -> None:
        """Let `most` listeners listen at a time."""
        self._most = most
        self._meters = meters
        self._channels: dict[Hashable, _Channel] = {}
        self._listeners: set[Listener] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def listener(self) -> Iterator[Listener]:
        """A place to listen; `TooBusy` when all are taken."""
        if len(self._listeners) >= self._most:
            raise TooBusy(f"{self._most} listen already (api_listeners)", after=30)
        self._loop = asyncio.get_running_loop()
        listener = Listener()
        self._listeners.add(listener)
        self._meters.listeners.set(len(self._listeners))
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            self._meters.listeners.set(len(self._listeners))

    @contextmanager
    def hears(self, listener: Listener, key: Hashable, every: float, poll: Poll) -> Iterator[None]:
        """Let `listener` hear the question `key`, which `poll` asks every so many seconds."""
        channel = self._channels.get(key)
        if channel is None:
            task = asyncio.ensure_future(self._polled(key, every, poll))
            channel = self._channels[key] = _Channel(set(), task)
        channel.listeners.add(listener)
        for event in channel.last:
            listener.put(event)
        try:
            yield
        finally:
            channel.listeners.discard(listener)
            if not channel.listeners:
                channel.task.cancel()
                self._channels.pop(key, None)

    def stop(self) -> None:
        """Send every listener away; safe from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._most = 0
        for listener in self._listeners:
            listener.put(None)

    async def _polled(self, key: Hashable, every: float, poll: Poll) -> None:
        while True:
            events = await _asked(poll)
            channel = self._channels[key]
            if events and not events[0].number:
                channel.last = events
            for listener in channel.listeners:
                for event in events:
                    listener.put(event)
            # On multiples of the step, so that a window's end is the same for everybody.
            await asyncio.sleep(every - time.time() % every)


async def _asked(poll: Poll) -> Sequence[Event]:
    try:
        return await poll()
    except Exception as fault:  # told to the listeners: the poller itself goes on
        return (Event("problem", bytes(told_problem("a live question", fault).body)),)
