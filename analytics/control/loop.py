"""The threshold loop as something that lives beside the service: every so often a round, its decisions kept.

It moves thresholds in the log alone. With `keep` None it is a dry run, and does nothing but judge.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import Event, Thread

from otel_attrib.analytics.control.judged import Judged, judge, row_of
from otel_attrib.analytics.control.observe import LAG_S
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.objectives import Objective
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.config import Settings
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.decisions import DecisionRow, decision_into_store
from otel_attrib.schema.store import Store

__all__ = ["Keep", "ThresholdLoop", "turn"]

Keep = Callable[[DecisionRow], None]
_log = logging.getLogger(__name__)


def turn(
    store: Store,
    objectives: Sequence[Objective],
    rule: ThresholdRule,
    now: datetime,
    keep: Keep | None,
    lag_s: int = LAG_S,
) -> list[Judged]:
    """Judge once, and keep the decisions that are not in the log yet; return all of them."""
    found = judge(store, objectives, rule, now, lag_s)
    for each in found:
        if keep is not None and not each.kept:
            keep(row_of(each, rule))
    return found


class ThresholdLoop:
    """Rounds in a thread of their own; a store that does not answer is asked again the next time."""

    def __init__(
        self,
        store: Callable[[], Store],
        objectives: Callable[[], Sequence[Objective]],
        keep: Callable[[Store], Keep],
        rule: ThresholdRule | None = None,
        every_s: float = 60.0,
    ) -> None:
        """Judge `objectives()` over `store()` every `every_s` seconds; `keep(store)` leads to the log."""
        self._store, self._objectives, self._keep = store, objectives, keep
        self._rule, self._every_s = rule or ThresholdRule(), every_s
        self.on = True
        self._over = Event()
        self._thread = Thread(target=self._run, name="thresholds", daemon=True)

    @classmethod
    def beside(cls, settings: Settings, store: Callable[[], Store]) -> "ThresholdLoop":
        """Return the loop of a service with these settings; one that is off never begins."""
        slo_files = SloFiles(settings.slo)
        loop = cls(store, slo_files.objectives, decision_into_store)
        loop.on = bool(settings.slo_loop and settings.slo)
        return loop

    def start(self) -> None:
        """Begin."""
        if self.on:
            self._thread.start()

    def stop(self, seconds: float) -> None:
        """End after the round that runs, waiting for it as long as `seconds`."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def round(self, now: datetime) -> list[Judged]:
        """Judge once; faults are logged, not raised."""
        try:
            store = self._store()
            return turn(store, self._objectives(), self._rule, now, self._keep(store))
        except OtelAttribError as fault:
            _log.warning("thresholds were not judged: %s", fault)
            return []

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self.round(datetime.now(UTC))
