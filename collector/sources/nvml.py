"""NVIDIA cards through NVML: one source, each kind of counter at the rate at which it means something.

Cumulative counters, GPM and the SM clock are read every time; links, errors, other levels and processes once
a second; limits and the cards' state every ten. What the hardware or the driver lacks is absent; a card that
falls off the bus is reported as failed while the others go on, and looked for again every ten seconds.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from otel_attrib.collector.agent.readings import Readings
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.claims import Claims
from otel_attrib.collector.sources.nvml_activity import Activity
from otel_attrib.collector.sources.nvml_block import Gone
from otel_attrib.collector.sources.nvml_card import Card, mig_changed, open_card
from otel_attrib.collector.sources.nvml_columns import Columns, Joined
from otel_attrib.collector.sources.nvml_counters import Counters, Health
from otel_attrib.collector.sources.nvml_levels import Clocks, Levels, Limits
from otel_attrib.collector.sources.nvml_library import Library
from otel_attrib.collector.sources.nvml_links import NvLinks
from otel_attrib.collector.sources.nvml_outputs import Notices
from otel_attrib.collector.sources.nvml_pcie import PcieSamples
from otel_attrib.collector.sources.nvml_processes import Processes
from otel_attrib.collector.sources.nvml_status import Status
from otel_attrib.collector.sources.nvml_xid import XidEvents

__all__ = ["Nvml"]

EVERY_S: Final = 0.1
SECONDLY_S: Final = 1.0
SLOW_S: Final = 10.0
_EARLY_S: Final = 0.02
"""A read that comes a little before its time is not put off to the next."""


class _Part(Protocol):
    @property
    def gone(self) -> list[Gone]: ...

    def read(self, now: float) -> list[Columns]: ...

    def close(self) -> None: ...


@dataclass
class _Due:
    """A part and how often it is read."""

    part: _Part
    every_s: float
    at: float = float("-inf")
    """When it is read next."""

    def due(self, now: float) -> bool:
        """Whether it is read now; times missed are not made up for."""
        if now < self.at - _EARLY_S:
            return False
        self.at = now + self.every_s if self.at < now - self.every_s else self.at + self.every_s
        return True


class Nvml:
    """All cards that NVML lists; the constructor raises `Unavailable` where there are none to read."""

    name = "nvml"
    every_s: float = EVERY_S

    def __init__(
        self,
        library: str | None = None,
        every_s: float = EVERY_S,
        secondly_s: float = SECONDLY_S,
        slow_s: float = SLOW_S,
        processes_s: float = SECONDLY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load NVML (from the file `library`, else from the loader's path) and open every card."""
        self.every_s = every_s
        self._secondly_s, self._slow_s, self._processes_s = secondly_s, slow_s, processes_s
        self._clock = clock
        self._library = Library(library)
        self._notices = Notices()
        self._joined = Joined()
        self._claims = Claims()
        self._status = Status()
        self._cards: dict[int, Card] = {}
        self._lost: dict[int, str] = {}
        self._looked = clock()
        self._parts: list[_Due] = []
        self._count = self._library.count()
        for index in range(self._count):
            self._open(index)
        if not self._cards and not self._lost:
            self._library.close()
            raise Unavailable(
                f"NVML lists {self._count} GPUs and this user may open none"
                if self._count
                else "NVML runs and lists no GPU: none is in this machine or this container"
            )
        self._build()

    def read(self) -> Readings:
        """Read what is due of all cards."""
        now = self._clock()
        if now - self._looked >= self._slow_s:
            self._look_again(now)
        told: list[Columns] = []
        for due in self._parts:
            now = self._clock()
            if due.due(now):
                told += due.part.read(now)
                if due.part.gone:
                    self._lose(due.part)
        readings = self._joined.readings(told + self._xids.read())
        self._claims.given(readings.layout)
        return readings

    def close(self) -> None:
        """Let go of samples and events, and shut NVML down."""
        self._release()
        self._claims.release()
        self._library.close()

    def _open(self, index: int) -> None:
        device = str(index)
        try:
            card = open_card(self._library, index, self._notices)
        except self._library.nv.NVMLError as fault:
            self._status.name(device, "", "")
            self._miss(index, str(fault))
            return
        if card is not None:
            self._lost.pop(index, None)
            self._cards[index] = card
            self._status.name(device, card.uuid, card.name)

    def _build(self) -> None:
        """Make all parts anew for the cards that answer."""
        library = self._library
        cards = [card for _, card in sorted(self._cards.items())]
        self._health = Health(library, cards, self._notices)
        self._links = NvLinks(library, cards, self._notices)
        self._states_due = _Due(_States(self), self._slow_s)
        self._parts = [
            _Due(Counters(library, cards), 0.0),
            _Due(Clocks(library, cards), 0.0),
            _Due(Activity(library, cards, self._clock()), 0.0),
            _Due(Levels(library, cards), self._secondly_s),
            _Due(self._links, self._secondly_s),
            _Due(self._health, self._secondly_s),
            _Due(Processes(library, cards), self._processes_s),
            _Due(Limits(library, cards), self._slow_s),
            _Due(PcieSamples(library, cards), self._slow_s),
            self._states_due,
        ]
        self._xids = XidEvents(library, {card.device: card.handle for card in cards}, self._notices)

    def _release(self) -> None:
        for due in self._parts:
            due.part.close()
        self._parts = []
        self._xids.close()

    def _lose(self, part: _Part) -> None:
        """Report cards that are gone; their series end here, those of the others go on."""
        new = {gone.card: gone.code for gone in part.gone if gone.card in self._cards}
        for index, code in new.items():
            del self._cards[index]
            self._miss(index, self._library.text(code))
            self._states_due.at = float("-inf")  # in this read still: it is the last part

    def _miss(self, index: int, why: str) -> None:
        if index not in self._lost:
            self._lost[index] = (
                f"GPU {index}: it no longer answers ({why}); it is reported as failed and looked for again"
            )
            self._notices.say(self._lost[index])

    def states(self) -> list[Columns]:
        """Return `hw.status` of every card."""
        return [self._status.columns((str(index) for index in self._lost), self._health.degraded)]

    def _look_again(self, now: float) -> None:
        """Look for lost cards, other MIG instances, links that came up: opened anew, all parts made anew."""
        self._looked = now
        before = dict(self._lost)
        for index in sorted(before):
            self._open(index)
        back = [index for index in sorted(before) if index in self._cards]
        for index in back:
            self._notices.over(before[index], f"GPU {index}: it answers again and is read as before")
        changed = [
            index
            for index, card in self._cards.items()
            if card.device in self._links.recovered or mig_changed(self._library, card)
        ]
        for index in changed:
            self._open(index)
        if back or changed:
            self._release()
            self._build()


class _States:
    """The cards' state as a part like the others."""

    def __init__(self, source: Nvml) -> None:
        self._source = source
        self.gone: list[Gone] = []

    def read(self, now: float) -> list[Columns]:
        return self._source.states()

    def close(self) -> None:
        return
