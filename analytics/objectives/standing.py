"""Where an objective stands: attainment over its window, budget left, burn rates, alerts.

    budget left = 1 − bad / (total · (1 − target)), over the window; below 0 more went than there was
    burn rate   = (bad / total) / (1 − target), over a shorter window; at 1 the budget is just met

An objective without `joint` has a budget for each limit; it is told as its worst limit stands, and a pair of
windows is an alert when one limit burns too fast in both. State: `page` or `warn` (a ticket) while a pair of
that severity burns, `warn` also when the budget is gone, `no data` when nothing was judged in the window,
else `ok`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.objectives.attained import Attained, Share, attained, requests_needed, share_of
from otel_attrib.analytics.objectives.burn import RATE_WINDOWS, BurnPair
from otel_attrib.analytics.objectives.minutes import count_minutes, in_slices, latest
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.tally import JOINT, Tally
from otel_attrib.schema.store import Store

__all__ = ["Firing", "Standing", "budgeted", "stand", "standing"]

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Firing:
    """One pair of burn windows: how fast each burnt, and whether both are above the factor.

    `limit` is the latency that this is about, `joint` for all; rates are None where nothing was judged.
    """

    pair: BurnPair
    limit: str
    long_rate: float | None
    short_rate: float | None

    @property
    def firing(self) -> bool:
        """Return whether both windows burn faster than the factor."""
        rates = (self.long_rate, self.short_rate)
        return all(rate is not None and rate > self.pair.factor for rate in rates)


@dataclass(frozen=True, slots=True)
class Standing:
    """One objective at one time. `attained` counts requests, or slices with Timeslices.

    `burn` has the rate of each window (None where nothing was judged); `needed` is how many rows tell the
    share to within half of the budget, and `few` that there are fewer.
    """

    objective: Objective
    end: datetime
    attained: Attained
    burn: tuple[tuple[timedelta, float | None], ...]
    pairs: tuple[Firing, ...]

    @property
    def budget_left(self) -> float | None:
        """Return the share of the budget that is left, below 0 when overspent; None without data."""
        spent = _rate(self.attained.whole, self.objective)
        return None if spent is None else 1 - spent

    @property
    def state(self) -> str:
        """Return `page`, `warn`, `ok` or `no data`."""
        severities = {firing.pair.severity for firing in self.pairs if firing.firing}
        if "page" in severities:
            return "page"
        if severities or (self.budget_left is not None and self.budget_left <= 0):
            return "warn"
        return "ok" if self.attained.total else "no data"

    @property
    def needed(self) -> int:
        """Return how many rows tell the share to within half of the budget, 19 times out of 20."""
        return requests_needed(self.objective.target, self.objective.budget / 2)

    @property
    def few(self) -> bool:
        """Return whether what was judged is too little to say."""
        return self.attained.whole.rows < self.needed

    @property
    def worst(self) -> Firing | None:
        """Return the alert that burns fastest, a page before a ticket; None without one."""
        firing = [each for each in self.pairs if each.firing]
        return min(firing, key=_urgency) if firing else None


def _urgency(firing: Firing) -> tuple[bool, float]:
    return firing.pair.severity != "page", -(firing.long_rate or 0.0)


def stand(store: Store, objectives: Sequence[Objective], minute: int) -> list[Standing]:
    """Return where objectives stand before a minute since 1970, from the rows."""
    if not objectives:
        return []
    minutes = max(each.window for each in objectives) // MINUTE
    found = count_minutes(store, objectives, minute - minutes, minute)
    return [standing(each, tally) for each, tally in zip(objectives, found, strict=True)]


def standing(objective: Objective, minutes: Tally) -> Standing:
    """Return where an objective stands at the end of counts by the minute, which reach back its window."""
    found, step = budgeted(objective, minutes)
    whole = latest(found, objective.window // step)
    windows = [each for each in RATE_WINDOWS if each < objective.window] + [objective.window]
    rates = tuple((window, _worst_rate(objective, found, window, step)) for window in windows)
    return Standing(
        objective,
        datetime.fromtimestamp(int(found.edges_us[-1]) / 1e6, UTC),
        attained(whole, objective),
        rates,
        tuple(_firings(objective, found, step)),
    )


def budgeted(objective: Objective, minutes: Tally) -> tuple[Tally, timedelta]:
    """Return the counts that the budget is kept in, and their step: minutes of requests, or slices."""
    if objective.slices is None:
        return minutes, MINUTE
    return in_slices(minutes, objective.slices), objective.slices.length


def _budgets(objective: Objective) -> tuple[str, ...]:
    """Return the names of the counts that have a budget of their own."""
    return (JOINT,) if objective.joint else tuple(limit.metric for limit in objective.limits)


def _firings(objective: Objective, found: Tally, step: timedelta) -> list[Firing]:
    def rates(name: str, pair: BurnPair) -> Firing:
        long, short = (_burn(objective, found, name, each, step) for each in (pair.long, pair.short))
        return Firing(pair, name, long, short)

    return [rates(name, pair) for name in _budgets(objective) for pair in objective.pairs()]


def _worst_rate(objective: Objective, found: Tally, window: timedelta, step: timedelta) -> float | None:
    rates = [_burn(objective, found, name, window, step) for name in _budgets(objective)]
    return max((rate for rate in rates if rate is not None), default=None)


def _burn(objective: Objective, found: Tally, name: str, window: timedelta, step: timedelta) -> float | None:
    """Return the burn rate over the steps that a window touches."""
    return _rate(share_of(found, name, -(-window // step)), objective)


def _rate(share: Share, objective: Objective) -> float | None:
    return None if share.value is None else (share.bad / share.total) / objective.budget
