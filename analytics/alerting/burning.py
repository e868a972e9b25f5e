"""Budgets that burn: where the objectives stand each minute, and since when each burns too fast.

A page of an objective covers its ticket: while somebody is paged, no ticket about the same budget is
told. A burn is over when no pair of its severity has been above its factor for `CALM_S`, so that a rate
at its limit is one alert and not twenty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from otel_attrib.analytics.alerting.kinds import BURNS
from otel_attrib.analytics.alerting.making import Burn
from otel_attrib.analytics.objectives.count_cache import CountCache
from otel_attrib.analytics.objectives.minutes import last_minute
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.analytics.objectives.standing import Firing, Standing, standing
from otel_attrib.schema.store import Store

__all__ = ["Burning", "Burns"]

CALM_S = 180.0


@dataclass(slots=True)
class Burning:
    """One objective that burns at one severity; `burns` are the pairs, as they were seen last."""

    objective: Objective
    severity: str
    since: datetime
    seen: datetime
    burns: list[Burn] = field(default_factory=list)
    limit: str = ""
    over: bool = False


class Burns:
    """The objectives of a site and which of them burn; for one thread."""

    def __init__(self, slo_files: SloFiles) -> None:
        """Know nothing yet."""
        self._slo_files = slo_files
        self._counts: CountCache | None = None
        self._minute = 0
        self._burning: dict[tuple[str, str], Burning] = {}
        self.standings: Sequence[Standing] = ()

    def step(self, store: Store, now: float) -> Iterator[Burning]:
        """Yield what burns and what has just stopped, once a minute; `now` is in seconds since 1970."""
        at = datetime.fromtimestamp(now, UTC)
        minute = last_minute(at)
        if minute == self._minute:
            return
        self.standings = self._stand(store, minute)
        self._minute = minute
        yield from self._judge(at)

    def _stand(self, store: Store, minute: int) -> Sequence[Standing]:
        objectives = self._slo_files.objectives()
        if not objectives:
            return ()
        if self._counts is None or self._counts.objectives != objectives:
            self._counts = CountCache(objectives)
        found = self._counts.upto(store, minute)
        return [standing(each, minutes) for each, minutes in zip(objectives, found, strict=True)]

    def _judge(self, at: datetime) -> Iterator[Burning]:
        for one in self.standings:
            for severity in BURNS:
                self._see(one, severity, at)
        known = {one.objective.name for one in self.standings}
        for key, burning in list(self._burning.items()):
            name, severity = key
            calm = (at - burning.seen).total_seconds() >= CALM_S
            covered = severity == "ticket" and (name, "page") in self._burning
            burning.over = calm or covered or name not in known
            if burning.over:
                del self._burning[key]
            yield burning

    def _see(self, one: Standing, severity: str, at: datetime) -> None:
        firing = [pair for pair in one.pairs if pair.firing and pair.pair.severity == severity]
        key = one.objective.name, severity
        if not firing or (severity == "ticket" and (one.objective.name, "page") in self._burning):
            return
        burning = self._burning.setdefault(key, Burning(one.objective, severity, at, at))
        burning.objective, burning.seen = one.objective, at
        burning.burns = [_burn(pair) for pair in firing]
        burning.limit = firing[0].limit


def _burn(firing: Firing) -> Burn:
    return Burn(firing.pair, firing.short_rate or 0.0, firing.long_rate or 0.0)
