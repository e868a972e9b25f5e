"""The agent: sources in lanes, a budget, an export, and its own figures, looked after by one thread.

A node's counters are read at each source's own rate, given to every sink with the wall time of the read, and
sent as OTLP metrics. No source can stop another: what fails, hangs or costs too much is dealt with alone.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, Thread

from otel_attrib.collector.agent.budget import Budget
from otel_attrib.collector.agent.catalogue import DEFAULT, SOURCES, chosen, source_class
from otel_attrib.collector.agent.clock import Clock
from otel_attrib.collector.agent.opening import Makers, Opening
from otel_attrib.collector.agent.own import Own
from otel_attrib.collector.agent.reader import Reader
from otel_attrib.collector.agent.schedule import Lanes
from otel_attrib.collector.agent.sink import Sink
from otel_attrib.collector.agent.source import Source
from otel_attrib.config import Settings
from otel_attrib.errors import UsageError

__all__ = ["Agent", "Plan", "makers", "plan_of"]

_log = logging.getLogger(__name__)

_LOOK_S = 0.25
_SELDOM_S = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read and how often, and what that may cost."""

    sources: Sequence[str] = ()
    """Empty: all but those on request."""
    every: Mapping[str, float] = field(default_factory=dict)
    budget: float = 0.01
    """Share of one core."""


def plan_of(settings: Settings) -> Plan:
    """The plan that the settings ask for; `UsageError` for a source that is not in the catalogue."""
    every = dict(settings.agent_every)
    strange = {*settings.agent_sources} - {*SOURCES, DEFAULT} | {*every} - {*SOURCES, Own.name}
    for name in sorted(strange):
        raise UsageError(f"{name!r} is no source: {', '.join(SOURCES)}")
    return Plan(settings.agent_sources, every, settings.agent_budget)


def makers(names: Sequence[str]) -> dict[str, Callable[[], Source]]:
    """What opens each source, its module imported only then; what compiles a program comes last."""
    ordered = sorted(chosen(names), key=lambda name: SOURCES[name].startswith("ebpf."))
    return {name: partial(_made, name) for name in ordered}


class Agent:
    """Reads until it is stopped."""

    def __init__(
        self,
        plan: Plan,
        sinks: Sequence[Sink],
        sources: Makers | None = None,
        clock: Clock | None = None,
        cpu_s: Callable[[], float] | None = None,
        lost: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """Give readings to `sinks`; `cpu_s` is what all of the agent took, if it is not the whole process."""
        self._plan = plan
        self._sinks = sinks
        self._clock = clock or Clock()
        self._cpu_s = cpu_s or time.process_time
        self._lanes = Lanes(self._clock)
        self._budget = Budget(plan.budget)
        self._readers: list[Reader] = []
        self._lock = Lock()
        self._ending = Event()
        found = makers(plan.sources) if sources is None else sources
        self._opening = Opening(found, self._take, plan.sources, self._clock.steady_s)
        self._thread = Thread(target=self._run, name="agent", daemon=True)
        self._take("agent", Own(lambda: self.readers, self._cpu_s, lost))

    @property
    def readers(self) -> Sequence[Reader]:
        """Every source that is read."""
        return tuple(self._readers)

    @property
    def missing(self) -> Mapping[str, str]:
        """Every source that is not, and why."""
        return dict(self._opening.missing)

    @property
    def lanes_cpu_s(self) -> float:
        """CPU time of the reading threads."""
        return self._lanes.cpu_s

    @property
    def spent(self) -> float:
        """Share of one core over the last half minute."""
        return self._budget.spent

    def start(self) -> None:
        """Begin to open and to read."""
        self._lanes.start()
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """End the reads and close the sources; one that hangs is left behind after so many seconds."""
        with self._lock:
            self._ending.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        hanging = self._lanes.stop(seconds)
        for reader in self.readers:
            if reader in hanging:
                _log.warning("%s: does not return from its read: the agent ends without it", reader.name)
            else:
                reader.close()

    def _take(self, name: str, source: Source) -> None:
        reader = Reader(source, self._sinks, self._plan.every.get(name), self._clock)
        with self._lock:
            if self._ending.is_set():
                reader.close()
                return
            self._readers.append(reader)
            self._lanes.add(reader)

    def _run(self) -> None:
        due, opening = 0.0, False
        while not self._ending.wait(_LOOK_S):
            try:
                self._lanes.look()
                if (now := self._clock.steady_s()) >= due:
                    due = now + _SELDOM_S
                    if opening or self._opening.busy:
                        self._budget.begin_anew()
                    else:
                        self._budget.look(now, self._cpu_s(), self._readers[1:])
                    opening = self._opening.look()
            except Exception:  # the sources go on without being looked after for a moment
                _log.exception("the agent goes on after a fault")


def _made(name: str) -> Source:
    return source_class(name)()
