"""From a fault to a notification that names its layer: a simulated fleet, a real Alertmanager.

The fleet's rows come into the store as their requests end. The clock of the looks is the simulation's, which
ran in the minutes just past, so that Alertmanager takes its times as they are.
"""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.alerting.listing import ask_alerts
from otel_attrib.analytics.alerting.making import Maker
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.notifier import Notifier
from otel_attrib.analytics.alerting.regressions import FOUND_AGAIN_S, Regressions
from otel_attrib.analytics.alerting.restore import fetch_firing
from otel_attrib.analytics.alerting.targets import Targets
from otel_attrib.analytics.alerting.watches import watches
from otel_attrib.config import load
from otel_attrib.fleet import load_scenario, simulate
from otel_attrib.fleet.deliver import stored_requests
from otel_attrib.schema.reports import into_store
from otel_attrib.schema.store import Store

Start = Callable[..., tuple[str, "subprocess.Popen[bytes]"]]
SMALL = ("windows.baseline=70", "windows.current=50", "windows.warmup=5")
QUIET = ("windows.baseline=150", "windows.current=40", "windows.warmup=5")
LOOK_S = 5


class Fleet:
    """A run whose fault starts at `fault`, seconds since 1970; rows are given out as time goes on."""

    def __init__(self, scenario: str, sets: tuple[str, ...] = SMALL) -> None:
        """Simulate it so that it ends now."""
        found = simulate(load_scenario(scenario, sets), 0)
        self.run = found.starting(datetime.now(UTC).replace(microsecond=0) - found.length)
        self.fault = self.run.windows[1].start.timestamp()
        self.end = self.run.windows[1].end.timestamp()
        self._given = 0.0
        tables = {"requests": stored_requests(self.run), "steps": self.run.steps, "samples": self.run.samples}
        self._tables = {name: (table, _ends(table)) for name, table in tables.items()}

    def until(self, store: Store, now: float) -> None:
        """Insert what ended since the last call."""
        for name, (table, ends) in self._tables.items():
            new = (ends > self._given) & (ends <= now)
            if new.any():
                store.insert_arrow(name, table.filter(pa.array(new)))
        self._given = now


def _ends(table: pa.Table) -> Any:
    ends = pc.cast(table["time"], "int64").to_numpy().astype(float)
    if "e2e_us" in table.column_names:
        ends = ends + np.nan_to_num(table["e2e_us"].to_numpy(zero_copy_only=False))
    return ends / 1e6


def looks(
    store: Store, fleet: Fleet, targets: Targets, metrics: str = "ttft"
) -> Iterator[tuple[float, ActiveAlerts]]:
    """Look every five seconds from before the fault on; yields seconds since the fault, and the alerts."""
    settings = load({}, alert_metrics="ttft", alert_external_url="http://page")
    active = ActiveAlerts()
    maker = Maker(Links.of(settings, ""), settings.alert_severity)
    look = Regressions(watches(store, settings), maker, active, into_store(store))
    notifier = Notifier(active, targets, Meters())
    now = fleet.fault - 10
    while now <= fleet.end:
        fleet.until(store, now)
        look.step(now)
        notifier.step((), datetime.fromtimestamp(now, UTC))
        yield now - fleet.fault, active
        now += LOOK_S


def blamed(alert: Alert) -> list[str]:
    """The layers that an alert's verdict names."""
    return [layer["layer"] for layer in (alert.found or {})["layers"] if layer["blamed"]]


@dataclass
class Told:
    """What came of one fault: seconds until its layer was named, the alerts, and what both receivers got."""

    named: float
    active: ActiveAlerts
    alertmanager: list[dict[str, Any]]
    webhook: list[dict[str, Any]]


@pytest.fixture(scope="module")
def told(tables: Store, hook: Any, alertmanager: Start) -> Iterator[Told]:
    """A noisy neighbour on the engines' cores, looked at for 50 s, and what two receivers were told."""
    receiver, own = hook(), hook()
    url, _ = alertmanager(receiver.url)
    targets = Targets.of(load({}, alertmanager=url, webhooks=own.url), Meters())
    targets.start()
    named = -1.0
    for seconds, active in looks(tables, Fleet("cpu-hog"), targets):
        if named < 0 and any("cpu" in blamed(alert) for alert in active.firing()):
            named = seconds
    for each in (receiver, own):
        each.wait_for(lambda got: any("host CPU" in str(body) for body in got))
    targets.stop(5)
    yield Told(named, active, receiver.got, own.got)
    for name in ("requests", "steps", "samples", "reports", "latency_histogram"):
        tables.command(f"TRUNCATE TABLE {name}")


def test_layer_within_a_minute(told: Told) -> None:
    """Within 60 s of a fault Alertmanager has told a receiver of it, with the layer at fault, and why."""
    body = next(body for body in told.alertmanager if "host CPU" in str(body))

    assert 0 < told.named <= 60
    (alert,) = body["alerts"]
    labels, words = alert["labels"], alert["annotations"]
    assert ("LatencyRegression", "model-fleet", "llama-3.1-8b", "ttft") == tuple(
        labels[name] for name in ("alertname", "service", "model", "metric")
    )
    assert words["verdict"].startswith(("CAUSE:", "CAUSE_SET:"))
    assert words["layers"].startswith("host CPU +")
    assert "runnable" in words["evidence_for"]
    assert f"http://page/#/reports/{labels['incident']}" == words["report_url"]
    assert words["runbook_url"].endswith("/LatencyRegression.md")
    assert 5 == len(words["exemplars"].split())
    assert sum(map(len, words.values())) < 4096


def test_webhook_has_the_numbers(told: Told) -> None:
    """The webhook has the same layer with its ms and probability, and the same labels."""
    alert = next(body for body in told.webhook if "host CPU" in str(body))["alerts"][0]

    first = alert["found"]["layers"][0]
    assert ("cpu", True) == (first["layer"], first["blamed"])
    assert first["p"] > 0.8
    assert first["ms"] > 20
    assert told.alertmanager[-1]["alerts"][0]["labels"] == alert["labels"]


def test_labels_never_change(told: Told) -> None:
    """From the first notification to the last an incident has one set of labels, told once a state."""
    alerts = [alert for body in told.webhook for alert in body["alerts"]]

    def state(alert: dict[str, Any]) -> tuple[Any, ...]:
        found = alert["found"]
        return alert["status"], found["verdict"], [x["layer"] for x in found["layers"] if x["blamed"]]

    states = list(map(state, alerts))
    assert 1 == len({tuple(sorted(alert["labels"].items())) for alert in alerts})
    assert "new" == alerts[0]["change"]
    assert all(one != other for one, other in zip(states, states[1:], strict=False))


def test_kept_and_listed(told: Told, tables: Store) -> None:
    """What fires is in the table of reports, so that the command, the API and a restart find it again."""
    (firing,) = told.active.firing()

    (kept,) = fetch_firing(tables)
    (row,) = tables.rows("SELECT report FROM reports WHERE alert != '' ORDER BY time DESC LIMIT 1")
    assert (firing.incident, dict(firing.labels)) == (kept.incident, dict(kept.labels))
    assert kept.found is not None
    assert kept.found["hash"] in row["report"]
    (item,) = ask_alerts(tables)["items"]
    assert firing.incident == item["incident"]
    assert [] == ask_alerts(tables, ("tenant-a",))["items"]


def test_a_restart_is_the_same_incident(told: Told, tables: Store) -> None:
    """A service that is started anew during a fault goes on with the incident there is, and ends it once."""
    (before,) = told.active.firing()
    active = ActiveAlerts()
    settings = load({}, alert_metrics="ttft")
    again = Regressions(watches(tables, settings), Maker(Links("", "")), active, into_store(tables))
    now = datetime.now(UTC).timestamp()

    again.resume(fetch_firing(tables))
    again.step(now)
    (after,) = active.firing()
    again.step(now + FOUND_AGAIN_S)

    assert (before.incident, before.starts) == (after.incident, after.starts)
    assert dict(before.labels) == dict(after.labels)
    assert [] == active.firing()
    assert [before.incident] == [alert.incident for alert in active.ended_since(before.starts)]
    assert [] == ask_alerts(tables)["items"]


def test_nothing_is_told_of_nothing(store: Store) -> None:
    """A fleet in which nothing breaks raises no alert."""
    every = [active for _, active in looks(store, Fleet("null-stationary", QUIET), Targets((), ()))]

    assert [] == every[-1].firing()
