"""The agent's own cost, held within a share of one core: the costliest source is read less often for a while.

Looked at over the last half minute. A source that is slowed is read half as often, then a quarter, down to
once a minute; it is read more often again as soon as that would fit.
"""

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from otel_attrib.collector.agent.reader import Reader

__all__ = ["WINDOW_S", "Budget"]

_log = logging.getLogger(__name__)

WINDOW_S = 30.0
# After each change at least so long is looked at before the next one.
_SETTLED_S = 10.0
_RAREST_S = 60.0
# Coming back is expected to leave this share of the budget free.
_ROOM = 0.1


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    cpu_s: float
    costs: Mapping[str, float]
    readings: Mapping[str, int]


class Budget:
    """Decides how much less often each reader is read."""

    def __init__(self, share: float) -> None:
        """Allow this share of one core."""
        self.share = share
        self.spent = 0.0
        """Share of one core over the window, as last looked at."""
        self._looks: deque[_Look] = deque()
        self._said: set[str] = set()

    def look(self, now: float, cpu_s: float, readers: Iterable[Reader]) -> None:
        """Compare with what was `cpu_s` in all and of each reader before; slow one, or let one come back."""
        known = list(readers)
        costs = {reader.name: reader.cpu_s for reader in known}
        self._looks.append(_Look(now, cpu_s, costs, {reader.name: reader.book.readings for reader in known}))
        while now - self._looks[0].at > WINDOW_S:
            self._looks.popleft()
        first = self._looks[0]
        if now - first.at < _SETTLED_S:
            return
        self.spent = (cpu_s - first.cpu_s) / (now - first.at)
        shares = _shares(first, self._looks[-1])
        if self._slow(known, shares) if self.spent > self.share else self._hasten(known, shares):
            self._looks.clear()

    def _slow(self, readers: Iterable[Reader], shares: Mapping[str, float]) -> bool:
        frequent = [reader for reader in readers if reader.interval_s < _RAREST_S]
        if not frequent:
            return False
        costliest = max(frequent, key=lambda reader: (shares[reader.name], reader.name))
        costliest.slowed *= 2
        if costliest.name not in self._said:
            self._said.add(costliest.name)
            _log.warning(
                "%s: takes %.2f %% of a core, and all together %.2f %% where %g %% are allowed: "
                "read every %g s instead of %g s for now",
                costliest.name,
                100 * shares[costliest.name],
                100 * self.spent,
                100 * self.share,
                costliest.every_s * costliest.slowed,
                costliest.every_s,
            )
        return True

    def _hasten(self, readers: Iterable[Reader], shares: Mapping[str, float]) -> bool:
        """Read the cheapest slowed one twice as often, where twice its cost fits as well."""
        slowed = [reader for reader in readers if reader.slowed > 1]
        if not slowed:
            return False
        cheapest = min(slowed, key=lambda reader: (shares[reader.name], reader.name))
        if self.spent + shares[cheapest.name] > self.share * (1 - _ROOM):
            return False
        cheapest.slowed //= 2
        return True


def _shares(first: _Look, last: _Look) -> dict[str, float]:
    """Share of one core of each: its reads, and by its number of readings what else the agent takes."""
    seconds = last.at - first.at
    own = {name: cost - first.costs.get(name, 0.0) for name, cost in last.costs.items()}
    readings = {name: count - first.readings.get(name, 0) for name, count in last.readings.items()}
    beside = max(0.0, last.cpu_s - first.cpu_s - sum(own.values()))
    each = beside / max(1, sum(readings.values()))
    return {name: (own[name] + each * readings[name]) / seconds for name in own}
