"""The watched latencies: one detector loop each, relearned while its baseline is young.

A watch needs 200 requests of a service before it knows what is normal, and learns once an hour. Right
after a start the first hour is not there yet, so it learns again after one, three, ten and thirty
minutes, unless an incident is under way: what is normal is not learned from a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from otel_attrib.analytics.alerting.explaining import explain_soon
from otel_attrib.analytics.detection.watcher import Judged, Watcher
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.question import check_level
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

__all__ = ["AGAIN_S", "Watch", "watches"]

AGAIN_S = (5.0, 10.0, 15.0, 21.0, 30.0, 45.0, 60.0, 90.0, 120.0, 300.0, 900.0, 1800.0)
"""After how long an incident is judged again: every few seconds until there are rows enough to say why."""

RELEARN_S = (60.0, 180.0, 600.0, 1800.0)
LEARN_PAUSE_S = 10.0


@dataclass(slots=True)
class Watch:
    """One latency and its detectors."""

    watcher: Watcher
    relearn: list[float] = field(default_factory=list)
    learned_at: float = float("-inf")

    def step(self, now: float) -> Iterator[Judged]:
        """Yield what there is to say at `now`, in seconds since 1970."""
        self._learn(now)
        if self.watcher.detectors:
            yield from self.watcher.step(now)

    def _learn(self, now: float) -> None:
        watcher = self.watcher
        if not watcher.detectors:
            if now - self.learned_at < LEARN_PAUSE_S:
                return
        elif watcher.incidents or not self.relearn or now < self.relearn[0]:
            return
        watcher.learn(now)
        self.learned_at = now
        if watcher.detectors:
            self.relearn = (
                [at for at in self.relearn if at > now] if self.relearn else [now + s for s in RELEARN_S]
            )


def watches(store: Store, settings: Settings) -> Sequence[Watch]:
    """Return a watch for each latency of the setting `alert_metrics`."""
    return [
        Watch(
            Watcher(
                store,
                explain_soon,
                metric_named(name),
                check_level(settings.alert_quantile),
                before=timedelta(seconds=settings.alert_baseline),
                alarms_per_day=settings.alert_false_alarms,
                again_s=AGAIN_S,
            )
        )
        for name in settings.alert_metrics
    ]
