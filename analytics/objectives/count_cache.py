"""Counts that are kept between questions, so that a window of 30 days costs what is new in it.

The first question reads the whole window, in statements of some ten million requests each. After that only
the last `AGAIN` minutes are read: requests are stored when they have ended, and a collector that was away
sends late, so minutes still fill up. Everything is read anew once an hour. Bound: a request that is stored
more than `AGAIN` minutes after it arrived is in the counts within the hour. `attain` and the command read
rows every time and know no such bound.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta

from otel_attrib.analytics.objectives.minutes import MINUTE_US, count_minutes, joined
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.tally import Tally
from otel_attrib.schema.store import Store

__all__ = ["AGAIN", "ANEW_S", "CountCache", "CountCaches"]

AGAIN = 30
ANEW_S = 3600.0
CACHES_AT_MOST = 16
MINUTE = timedelta(minutes=1)


class CountCache:
    """The minutes of some objectives; safe to share between threads."""

    def __init__(self, objectives: Sequence[Objective], clock: Callable[[], float] = time.monotonic) -> None:
        """Know nothing yet; `clock` gives seconds."""
        self.objectives = tuple(objectives)
        self._minutes = max(each.window for each in self.objectives) // MINUTE
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[Tally] = []
        self._until = 0
        self._anew_at = 0.0

    def upto(self, store: Store, minute: int) -> list[Tally]:
        """Return a tally for each objective that ends before `minute` and reaches back the longest window."""
        with self._lock:
            now = self._clock()
            whole = not self._kept or now >= self._anew_at or not 0 <= minute - self._until < self._minutes
            if whole:
                self._kept = count_minutes(
                    store, self.objectives, minute - self._minutes, minute, pieces=True
                )
                self._anew_at = now + ANEW_S
            else:
                self._kept = self._renewed(store, minute)
            self._until = minute
            return list(self._kept)

    def _renewed(self, store: Store, minute: int) -> list[Tally]:
        """Return what is kept with its last minutes read again and those since added."""
        first = max(self._until - AGAIN, self._until - self._minutes)
        new = count_minutes(store, self.objectives, first, minute, pieces=True)
        held = self._minutes - (minute - first)
        return [
            joined([_before(old, first, held), fresh]) if held > 0 else fresh
            for old, fresh in zip(self._kept, new, strict=True)
        ]


def _before(old: Tally, first: int, held: int) -> Tally:
    """Return the `held` minutes of a tally that end before the minute `first`."""
    kept = first - int(old.edges_us[0]) // MINUTE_US
    return old.cut(kept - held, kept)


class CountCaches:
    """A cache for each set of objectives that is asked for: one a scope of tenants; the oldest make room."""

    def __init__(self) -> None:
        """Hold none."""
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[Objective, ...], CountCache] = OrderedDict()

    def of(self, objectives: tuple[Objective, ...]) -> CountCache:
        """Return the cache of these objectives."""
        with self._lock:
            cache = self._held.pop(objectives, None) or CountCache(objectives)
            self._held[objectives] = cache
            while len(self._held) > CACHES_AT_MOST:
                self._held.popitem(last=False)
            return cache
