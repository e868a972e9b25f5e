"""Looking for incidents as long as the service lives, and telling whoever is to be told.

Two threads look: one for tails that became slower, every few seconds; one for budgets that burn, every
minute (its first look reads a month). What they find becomes an active alert, kept with its report in the
store, and told by threads that belong to the targets: nobody who is told can hold up a look. A look that
fails is counted, said once in the log, and tried again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from prometheus_client.core import Metric

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.budgets import Budgets
from otel_attrib.analytics.alerting.burning import Burns
from otel_attrib.analytics.alerting.gauges import Gauges
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.alerting.making import Maker
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.notifier import Notifier
from otel_attrib.analytics.alerting.regressions import Regressions
from otel_attrib.analytics.alerting.restore import fetch_firing
from otel_attrib.analytics.alerting.silences import Silence, fetch_silences
from otel_attrib.analytics.alerting.targets import Targets
from otel_attrib.analytics.alerting.watches import watches
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.config import Settings
from otel_attrib.errors import OtelAttribError
from otel_attrib.schema.reports import ReportRow, into_store
from otel_attrib.schema.store import Store

__all__ = ["Evaluator", "wanted"]

_log = logging.getLogger(__name__)

SILENCES_FRESH_S = 5.0
BURN_LOOK_S = 5.0
GIVEN_UP_S = 1.0

Keep = Callable[[ReportRow], None]
Stores = Callable[[], Store]


def wanted(settings: Settings) -> bool:
    """Whether `up` looks for incidents: when told to, or when there is somebody to tell."""
    told = bool(settings.alertmanager or settings.webhooks)
    return settings.alerts == "on" or (settings.alerts == "auto" and told)


class Evaluator:
    """Both looks, the active alerts, and who is told."""

    def __init__(
        self, settings: Settings, store: Stores, address: str, keep: Callable[[Store], Keep] = into_store
    ) -> None:
        """Prepare; `address` is where the page is, `keep` makes a way to write reports."""
        self.meters = Meters()
        self.active = ActiveAlerts()
        self._settings = settings
        self._store = store
        self._keep = keep
        links = Links.of(settings, address)
        self.maker = Maker(links, settings.alert_severity, dict(settings.alert_labels))
        self.targets = Targets.of(settings, self.meters)
        self._notifier = Notifier(self.active, self.targets, self.meters)
        self.slo_files = SloFiles(settings.slo)
        self._burns = Burns(self.slo_files)
        self._gauges = Gauges(self.active.firing, lambda: self._burns.standings)
        self._silences: tuple[Silence, ...] = ()
        self._silences_at = float("-inf")
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to look, if that is wanted."""
        if not wanted(self._settings):
            return
        self.targets.start()
        self._threads = [threading.Thread(target=self._tails, name="alerts: tails", daemon=True)]
        if self._settings.slo:
            self._threads.append(threading.Thread(target=self._burning, name="alerts: budgets", daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """End within `seconds`; a look under way is left behind."""
        self._ending.set()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic() - GIVEN_UP_S))
        self.targets.stop(max(0.0, end - time.monotonic()))

    def collect(self) -> Iterable[Metric]:
        """Yield what /metrics shows of it."""
        yield from self.meters.registry.collect()
        yield from self._gauges.collect()

    def describe(self) -> list[Metric]:
        """Name nothing: a registry that asks must not wait."""
        return []

    def _tails(self) -> None:
        looks: list[Regressions] = []

        def look(now: float) -> None:
            if not looks:
                looks.append(self._regressions())
            looks[0].step(now)

        self._again_and_again(look, self._settings.alert_interval)

    def _burning(self) -> None:
        looks: list[Budgets] = []

        def look(now: float) -> None:
            store = self._store()
            if not looks:
                looks.append(self._budgets(store))
            looks[0].step(store, now)

        self._again_and_again(look, BURN_LOOK_S)

    def _regressions(self) -> Regressions:
        store = self._store()
        found = Regressions(watches(store, self._settings), self.maker, self.active, self._keep(store))
        found.resume(self._earlier(store))
        return found

    def _budgets(self, store: Store) -> Budgets:
        level = self._settings.alert_quantile
        found = Budgets(self._burns, self.maker, self.active, self._keep(store), level)
        found.resume(self._earlier(store))
        return found

    def _earlier(self, store: Store) -> list[Alert]:
        alerts = fetch_firing(store)
        self._notifier.already(alerts)
        return alerts

    def _again_and_again(self, look: Callable[[float], None], every_s: float) -> None:
        trouble = ""
        while not self._ending.is_set():
            started = time.monotonic()
            trouble = self._look(look, trouble)
            self.meters.look_seconds.set(time.monotonic() - started)
            self._ending.wait(max(0.1, every_s - (time.monotonic() - started)))

    def _look(self, look: Callable[[float], None], trouble: str) -> str:
        """Look once and tell; return what went wrong, which is said once however long it lasts."""
        try:
            look(time.time())
            self._tell()
        except Exception as fault:  # whatever it was, the next look is worth more than this thread's end
            self.meters.looks.labels("failed").inc()
            if str(fault) != trouble:
                foreseen = isinstance(fault, OtelAttribError)  # of another the log has to say where
                _log.warning("looking for incidents failed, trying again: %s", fault, exc_info=not foreseen)
            return str(fault)
        self.meters.looks.labels("ok").inc()
        self.meters.looked.set_to_current_time()
        return ""

    def _tell(self) -> None:
        at = datetime.now(UTC)
        if time.monotonic() - self._silences_at >= SILENCES_FRESH_S:
            self._silences = fetch_silences(self._store(), at)
            self._silences_at = time.monotonic()
        self._notifier.step(self._silences, at)
