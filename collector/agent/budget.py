"""The agent's own cost, held within a share of one core: the costliest source is read less often for a while.

Looked at over the last half minute, or over two reads of what is slowed beyond that. A source that is slowed
is read half as often, then a quarter, down to once a minute (several steps at once far beyond the budget);
more often again as soon as that would fit.
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
    reads: Mapping[str, int]
    readings: Mapping[str, int]


class Budget:
    """Decides how much less often each reader is read."""

    def __init__(self, share: float) -> None:
        """Allow this share of one core."""
        self.share = share
        self.spent = 0.0
        """Share of one core over the window, as last looked at."""
        self._looks: deque[_Look] = deque()
        self._each: dict[str, float] = {}
        self._said: set[str] = set()

    def begin_anew(self) -> None:
        """Forget what was seen: what was spent on opening sources is not spent again."""
        self._looks.clear()

    def look(self, now: float, cpu_s: float, readers: Iterable[Reader]) -> None:
        """Compare with what was `cpu_s` in all and of each reader before; slow one, or let one come back."""
        known = list(readers)
        self._looks.append(_looked(now, cpu_s, known))
        window = max([WINDOW_S, *(2 * reader.interval_s for reader in known if reader.slowed > 1)])
        while now - self._looks[0].at > window:
            self._looks.popleft()
        first = self._looks[0]
        if now - first.at < max(_SETTLED_S, window / 3):
            return
        self.spent = (cpu_s - first.cpu_s) / (now - first.at)
        self._each |= _costs(first, self._looks[-1])
        shares = {reader.name: self._each.get(reader.name, 0.0) / reader.interval_s for reader in known}
        if self._slow(known, shares) if self.spent > self.share else self._hasten(known, shares):
            self._looks.clear()

    def _slow(self, readers: Iterable[Reader], shares: Mapping[str, float]) -> bool:
        frequent = [reader for reader in readers if 2 * reader.interval_s <= _RAREST_S]
        if not frequent:
            return False
        costliest = max(frequent, key=lambda reader: (shares[reader.name], reader.name))
        costliest.slowed *= self._factor(costliest, shares)
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

    def _factor(self, costliest: Reader, shares: Mapping[str, float]) -> int:
        """Twice, and more at once while what is spent would still be beyond twice the budget by it alone."""
        factor, cost = 2, shares[costliest.name]
        others = max((shares[name] for name in shares if name != costliest.name), default=0.0)
        while (
            self.spent - cost + cost / factor > 2 * self.share
            and cost / factor > others
            and 2 * factor * costliest.interval_s <= _RAREST_S
        ):
            factor *= 2
        return factor

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


def _looked(now: float, cpu_s: float, readers: Iterable[Reader]) -> _Look:
    books = {reader.name: reader.book for reader in readers}
    return _Look(
        now,
        cpu_s,
        {reader.name: reader.cpu_s for reader in readers},
        {name: book.reads for name, book in books.items()},
        {name: book.readings for name, book in books.items()},
    )


def _costs(first: _Look, last: _Look) -> dict[str, float]:
    """CPU time of one read of each that was read: its own, and by its readings what else the agent takes."""
    own = {name: cost - first.costs.get(name, 0.0) for name, cost in last.costs.items()}
    reads = {name: number - first.reads.get(name, 0) for name, number in last.reads.items()}
    readings = {name: number - first.readings.get(name, 0) for name, number in last.readings.items()}
    beside = max(0.0, last.cpu_s - first.cpu_s - sum(own.values()))
    each = beside / max(1, sum(readings.values()))
    return {name: (own[name] + each * readings[name]) / reads[name] for name in own if reads[name]}
