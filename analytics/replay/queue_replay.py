"""What the queue's change is made of: who made it longer, instead of that it is longer.

The arrivals of the current window go once more through the engine's admission (`engine.py`), with the
service times that each coalition of changes would have given. Shapley values of the quantile over the
coalitions give every stage its own time and the waiting that it causes; `queue` becomes the scheduler's
own change. What no player explains of the way from the baseline is workload as far as these requests make it
at the baseline's own arrivals (`paced.py`), and load beyond that: more requests, other bursts, other engines.

Identity: Σ stages + workload + load + unexplained = delta. With a valid replay
nothing is left unexplained: what the repair path could not say of a queue, the replay says. Stages that
do not play keep their φ. Without one, stages and unexplained are the change's and load is 0.

Intervals: the delete-block jackknife of the current window over the values, the waits of a coalition
being replayed once for all rows: leaving a block out changes who counts, not who queued.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.change.decompose import Change
from otel_attrib.analytics.copies import WEIGHT, rows_kept
from otel_attrib.analytics.harrell_davis import quantile
from otel_attrib.analytics.intervals import Estimate, jackknife
from otel_attrib.analytics.period import Period
from otel_attrib.analytics.replay.calibrate import Calibrated, calibrate
from otel_attrib.analytics.replay.engine import Served
from otel_attrib.analytics.replay.matching import place_rows
from otel_attrib.analytics.replay.own_wait import Own, Times, own_times
from otel_attrib.analytics.replay.paced import other_sizes, paced_like
from otel_attrib.analytics.replay.players import QUEUE, players_of
from otel_attrib.analytics.replay.shapley import Coalition, coalitions, shapley
from otel_attrib.analytics.replay.world import Undone
from otel_attrib.analytics.replay.worth import Leaving
from otel_attrib.analytics.wording import digits

__all__ = ["Replay", "replay_queue"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEGLIGIBLE = 0.01
NOTHING = Estimate(0.0, 0.0, float("inf"))


@dataclass(frozen=True)
class Replay:
    """The change's stages with the waiting they cause, and the load; ms.

    valid: the model of the engine passed its gate, or there is no queue to explain; `reason` says which,
    or what was missing. r2, p99_error: the gate's figures, None where it was not needed or not possible.
    """

    valid: bool
    reason: str
    r2: float | None
    p99_error: float | None
    stages: dict[str, Estimate]
    workload: Estimate
    load: Estimate
    unexplained: Estimate


def replay_queue(baseline: Period, current: Period, change: Change, level: float) -> Replay:
    """Resolve the queue's part of `change` into the stages that caused it, the scheduler and the load."""
    refused = _not_needed(baseline, current, change, level) or _not_possible(baseline, current)
    if refused is not None:
        return Replay(*refused, None, None, dict(change.stages), change.workload, NOTHING, change.unexplained)
    model = calibrate(baseline, current)
    if not model.fit.good and not _waits_changed(change):
        reason = "not needed: waiting did not change (and would not be resolved)"
        return Replay(
            True, reason, None, None, dict(change.stages), change.workload, NOTHING, change.unexplained
        )
    if not model.fit.good:
        reason = f"queue, cause unresolved: replaying the baseline missed its waits ({model.fit})"
        figures = model.fit.r2, model.fit.p99_error
        return Replay(
            False, reason, *figures, dict(change.stages), change.workload, NOTHING, change.unexplained
        )
    stages, workload, load = _Game(baseline, current, change, level, model).books()
    reason = f"waits replayed: {model.fit} on the baseline"
    return Replay(True, reason, model.fit.r2, model.fit.p99_error, stages, workload, load, NOTHING)


def _not_needed(baseline: Period, current: Period, change: Change, level: float) -> tuple[bool, str] | None:
    """Return why there is nothing to replay: no queue in the metric, or none that reaches its quantile."""
    if QUEUE not in current.rows.names:
        return True, "not needed: the metric has no queue"
    if any(_queue_share(period, level) >= NEGLIGIBLE for period in (baseline, current)):
        return None
    return None if _waits_changed(change) else (True, "not needed: requests hardly wait in either window")


def _waits_changed(change: Change) -> bool:
    """Return whether the queue's own line is there: neither within its noise nor 1 % of the whole."""
    queue = change.stages[QUEUE]
    low, high = queue.interval()
    least = NEGLIGIBLE * max(abs(change.delta.value), abs(change.before.value))
    return not low <= 0 <= high and abs(queue.value) >= least


def _queue_share(period: Period, level: float) -> float:
    """Return the quantile of the waits as a share of the metric's."""
    whole = quantile(period.rows.values, level)
    return quantile(period.rows.stage(QUEUE), level) / whole if whole > 0 else 0.0


def _not_possible(baseline: Period, current: Period) -> tuple[bool, str] | None:
    """Return what a replay lacks: every request of the window, and the wait of each."""
    for name, period in (("baseline", baseline), ("current window", current)):
        if len(period.requests) < period.rows.total:
            told = f"{len(period.requests):,} of {period.rows.total:,}"
            return False, f"queue, cause unresolved: {told} requests of the {name} are at hand"
        if WEIGHT in period.requests.column_names:
            away = f"{digits(100 * (1 - rows_kept(period.requests) / len(period.requests)))} %"
            return False, f"queue, cause unresolved: {away} of the requests of the {name} were sampled away"
        column = period.rows.observed[:, period.rows.names.index(QUEUE)]
        if period.rows.n == 0 or float(column.mean()) < 0.9:
            return False, f"queue, cause unresolved: waits of the {name} were not observed"
    return None


class _Game:
    """The coalitions of one change and what each is worth."""

    def __init__(
        self, baseline: Period, current: Period, change: Change, level: float, model: Calibrated
    ) -> None:
        self.change, self.rows, self.model = change, current.rows, model
        self.place = place_rows(current.rows, current.requests, model.current.seen.row)
        found = players_of(change, current.rows, model.baseline, model.current, self.place)
        self.players = {player.name: player for player in found}
        self.leaving = Leaving(block_ids(current.rows, current.window), level)
        self.as_seen = model.current.serve(model.limits)
        self.own = self._own()
        self._served: dict[Coalition, Served] = {frozenset(): self.as_seen}

    def books(self) -> tuple[dict[str, Estimate], Estimate, Estimate]:
        """Return φ of every stage, workload and load, which close the identity."""
        names = (*self.players, QUEUE)
        worth = {some: self.leaving.worth(self._values(some)) for some in coalitions(names)}
        found = {name: self._estimate(value) for name, value in shapley(names, worth).items()}
        change = self.change
        stages = {name: found.get(name, phi) for name, phi in change.stages.items()}
        stages |= {name: phi for name, phi in found.items() if name not in stages}
        told = sum(phi.value for phi in stages.values())
        rest = change.delta.value - told
        nothing = worth[frozenset()]
        if not other_sizes(self.model.current.seen, self.model.baseline.seen):
            start = self._estimate(nothing)
            variance = start.variance + change.before.variance + change.workload.variance
            freedom = min(start.freedom, change.before.freedom)
            return stages, change.workload, Estimate(rest - change.workload.value, variance, freedom)
        paced = self.leaving.worth(self._paced())
        load, start = self._estimate(nothing - paced), self._estimate(paced)
        freedom = min(start.freedom, change.before.freedom)
        workload = Estimate(rest - load.value, start.variance + change.before.variance, freedom)
        return stages, workload, load

    def _estimate(self, worth: Floats) -> Estimate:
        return jackknife(worth[:1], worth[1:, None], self.leaving.sizes)[0]

    def _own(self) -> Own:
        a, b = self.model.baseline, self.model.current
        observed = Times(a.wait, a.stay), Times(b.wait, b.stay)
        return own_times(observed, (self.model.replayed, self.as_seen))

    def _serve(self, undone: Coalition) -> Served:
        """Serve the arrivals with the changes of these players taken back."""
        if undone not in self._served:
            self._served[undone] = self.model.current.serve(self.model.limits, self._spared(undone))
        return self._served[undone]

    def _spared(self, undone: Coalition) -> Undone:
        world = self.model.current
        spared = Undone.nothing(world.seen.n, world.idle.size)
        for name in sorted(undone):
            spared = spared.beside(self.players[name].undone)
        return spared

    def _paced(self) -> Floats:
        """Return the (n,) values with no change but the requests', which come as the baseline's did."""
        absent, world = frozenset(self.players), self.model.current
        seen = replace(world.seen, at=paced_like(world.seen, self.model.baseline.seen))
        served = replace(world, seen=seen).serve(self.model.limits, self._spared(absent))
        later = self.own.until_first_token(served, False) - world.wait - world.stay
        return self._less(absent, later)

    def _values(self, present: Coalition) -> Floats:
        """Return the metric's (n,) values with only these players' changes present."""
        absent = frozenset(self.players) - present
        if not absent and QUEUE in present:  # all is as observed, to the last bit
            return self.rows.values
        return self._less(absent, self._later(absent, QUEUE in present))

    def _less(self, absent: Coalition, later: Floats) -> Floats:
        """Return the values without what absent players did to them directly, first tokens coming `later`."""
        values = self.rows.values - sum(self.players[name].direct for name in sorted(absent))
        known = self.place >= 0
        values[known] += later[self.place[known]]
        return np.asarray(values, dtype=np.float64)

    def _later(self, absent: Coalition, scheduler: bool) -> Floats:
        """Return (arrivals,) ms by which each first token comes later than observed."""
        world = self.model.current
        now = self.own.until_first_token(self._serve(absent), scheduler)
        later: Floats = now - world.wait - world.stay
        return later
