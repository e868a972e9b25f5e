"""One engine of the fleet that takes requests while its clock goes on."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats, Ints
from otel_attrib.errors import MissingExtra
from otel_attrib.fleet.cards import model_named
from otel_attrib.fleet.costs import costs
from otel_attrib.fleet.engine import _step_chance, kernel
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.terms import State, worst
from otel_attrib.fleet.workload import Requests

__all__ = ["Replica"]


@dataclass(frozen=True)
class _Taken:
    """What the step loop reads of the requests taken so far, in the order they came; room for all of them."""

    queued: Floats
    prompt: Ints
    output: Ints
    prefix: Ints
    on_host: Flags
    luck: Floats
    offsets: Ints


class Replica:
    """Serves what it is given; the same chance as `engine.serve` draws for this place."""

    def __init__(
        self, scenario: Scenario, requests: Requests, state: State, place: int, largest: int, seed: int
    ) -> None:
        """Prepare engine `place`, to which some of `requests` will be sent."""
        self._resumed = _resumed()
        self._requests = requests
        self._place = place
        mine = np.flatnonzero(requests.replica == place)
        self.rows: Ints = np.empty(mine.size, dtype=np.int64)
        self.taken = 0
        room = int(requests.output[mine].sum())
        self._hit_rate, self._host_share = scenario.fleet.hit_rate, scenario.fleet.host_cache_share
        by_replica = state.values.reshape(state.starts.size, scenario.replicas, scenario.fleet.tp, -1)
        self._starts, self._terms = state.starts, np.ascontiguousarray(worst(by_replica[:, place]))
        cost = costs(scenario, model_named(scenario.models[place % len(scenario.models)]), largest)
        noise, draws = _step_chance(np.random.default_rng([seed, 4, place]))
        self._given = _empty(mine.size)
        self._work = self._resumed.Work(
            *(
                getattr(self._given, name)
                for name in ("queued", "prompt", "output", "prefix", "on_host", "luck")
            ),
            self._given.offsets,
            scenario.fleet.hit_rate,
            cost.cost,
            cost.limits,
            noise,
            draws,
        )
        self._desk = self._resumed.desk(mine.size, cost.limits[1])
        self._clock, self._count = np.zeros(2), np.zeros(1, dtype=np.int64)
        self.done: Floats = np.full(room, np.inf)

    def take(self, rows: Ints, times: Floats) -> None:
        """Queue requests at `times`, ascending, none before those taken already."""
        requests, given = self._requests, self._given
        here = slice(self.taken, self.taken + rows.size)
        given.queued[here] = times
        given.prompt[here], given.output[here] = requests.prompt[rows], requests.output[rows]
        given.prefix[here], given.luck[here] = requests.shared[rows], requests.luck[rows]
        given.on_host[here] = requests.on_host[rows] < self._host_share
        first = int(given.offsets[self.taken])
        given.offsets[self.taken + 1 : self.taken + 1 + rows.size] = first + np.cumsum(requests.output[rows])
        self.rows[here] = rows
        self.taken += rows.size

    def advance(self, until: float) -> None:
        """Go on to `until` seconds, or until all that was taken is served."""
        self._resumed.advance(
            self._work,
            self._desk,
            self._clock,
            self._count,
            self._starts,
            self._terms,
            until,
            self.taken,
            self.done,
        )

    @property
    def served(self) -> Floats:
        """Return (taken, len(kernel.REQUEST)) what the engine says of its requests so far."""
        table: Floats = self._desk.requests[: self.taken]
        return table

    @property
    def offsets(self) -> Ints:
        """Return (taken + 1,) where each request's tokens begin in `done`."""
        return self._given.offsets[: self.taken + 1]


def _empty(n: int) -> _Taken:
    def whole(size: int = n) -> Ints:
        return np.zeros(size, dtype=np.int64)

    flags = np.zeros(n, dtype=np.bool_)
    return _Taken(np.full(n, np.inf), whole(), whole(), whole(), flags, np.zeros(n), whole(n + 1))


def _resumed() -> ModuleType:
    kernel()  # says what is missing where numba is
    try:
        from otel_attrib.fleet.trial import resumed
    except ModuleNotFoundError as missing:
        raise MissingExtra("the trial", "simulate") from missing
    return resumed
