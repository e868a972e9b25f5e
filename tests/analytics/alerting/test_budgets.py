"""Budgets that burn become alerts with an answer: raised, kept, over, and after a restart."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.budgets import Budgets
from otel_attrib.analytics.alerting.burning import CALM_S, Burns
from otel_attrib.analytics.alerting.gauges import Gauges
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.alerting.making import Maker
from otel_attrib.analytics.alerting.restore import fetch_firing
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.schema.reports import into_store
from otel_attrib.schema.store import Store

OBJECTIVE = """
apiVersion: openslo/v1
kind: SLO
metadata: {name: first-token}
spec:
  service: chat
  indicator:
    metadata: {name: within}
    spec:
      ratioMetric:
        counter: true
        good: {metricSource: {type: otel-attrib, spec: {limits: {ttft: 200ms}, where: {model: m}}}}
        total: {metricSource: {type: otel-attrib, spec: {where: {model: m}}}}
  timeWindow: [{duration: 30d, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{target: 0.99}]
"""
MINUTES = 90


def fill(store: Store, now: float, slow: float, last: int = MINUTES) -> None:
    """Insert 20 requests a minute up to `now`; in the last 60 minutes a share `slow` of them is slow."""
    rng = np.random.default_rng(2)
    n = 20 * last
    ago = np.sort(rng.integers(0, last * 60_000_000, n))
    ttft = np.where((rng.random(n) < slow) & (ago < 3_600_000_000), 500_000.0, rng.lognormal(11, 0.2, n))
    store.insert_arrow(
        "requests",
        pa.table(
            {
                "time": pa.array(int(now * 1e6) - ago, pa.timestamp("us", "UTC")),
                "trace_id": [f"{i:032x}" for i in range(n)],
                "service": ["chat"] * n,
                "model": ["m"] * n,
                "node": ["n1"] * n,
                "status": ["ok"] * n,
                "output_tokens": pa.array([5] * n, pa.uint32()),
                "ttft_us": ttft,
                "e2e_us": ttft + 1,
                "prefill_us": ttft,
            }
        ),
    )


@pytest.fixture
def now() -> float:
    """The start of this minute."""
    return datetime.now(UTC).timestamp() // 60 * 60


@pytest.fixture
def budgets(store: Store, tmp_path: Path) -> Iterator[Budgets]:
    """A look at one objective."""
    (tmp_path / "slo.yaml").write_text(OBJECTIVE)
    yield Budgets(
        Burns(SloFiles(str(tmp_path / "slo.yaml"))),
        Maker(Links("http://page", "")),
        ActiveAlerts(),
        into_store(store),
    )


def rows(store: Store) -> list[dict[str, Any]]:
    """What was kept."""
    return store.rows("SELECT incident, state, where, alert, report FROM reports ORDER BY time")


def test_a_page_with_an_answer(store: Store, budgets: Budgets, now: float) -> None:
    """One in five slow for an hour is a page, no ticket beside it, with what `why` says, kept."""
    fill(store, now, 0.2)

    budgets.step(store, now)

    (alert,) = budgets.active.firing()
    assert ("SloBurnPage", "page", "first-token", "m") == tuple(
        alert.labels[name] for name in ("alertname", "severity", "slo", "model")
    )
    assert "× in 1h" in alert.annotations["burn"]
    assert "http://page/#/slo/first-token" == alert.annotations["objective_url"]
    assert alert.found is not None
    (row,) = rows(store)
    assert (alert.incident, "open", {"model": "m", "slo": "first-token"}) == (
        row["incident"],
        row["state"],
        row["where"],
    )
    assert alert.found["hash"] in row["report"]


def test_within_the_budget(store: Store, budgets: Budgets, now: float) -> None:
    """Nothing slow is no alert, and the gauges say where the objective stands."""
    fill(store, now, 0.0)

    budgets.step(store, now)

    assert [] == budgets.active.firing()
    gauges = {
        sample.name: sample.value
        for family in Gauges(budgets.active.firing, lambda: budgets.burns.standings).collect()
        for sample in family.samples
    }
    assert (1.0, 1.0) == (gauges["otel_attrib_slo_budget_left"], gauges["otel_attrib_slo_attained"])


def test_over_when_calm(store: Store, budgets: Budgets, now: float) -> None:
    """A page is over once no pair has burnt for three minutes; its end is kept with the same incident."""
    fill(store, now, 0.2)
    budgets.step(store, now)
    (alert,) = budgets.active.firing()

    # Half an hour later without requests the short windows hold nothing.
    later = now + 1860
    for wait in range(0, int(CALM_S) + 61, 60):
        budgets.step(store, later + wait)

    assert not [a for a in budgets.active.firing() if a.name == "SloBurnPage"]
    over = [row for row in rows(store) if row["incident"] == alert.incident]
    assert "over" == over[-1]["state"]


def test_one_look_a_minute(store: Store, budgets: Budgets, now: float) -> None:
    """Within a minute nothing is counted again."""
    fill(store, now, 0.2)
    budgets.step(store, now)
    before = len(rows(store))

    budgets.step(store, now + 30)

    assert before == len(rows(store))


def test_a_restart_is_the_same_incident(store: Store, budgets: Budgets, now: float, tmp_path: Path) -> None:
    """A service that is started anew goes on with the burn that there was."""
    fill(store, now, 0.2)
    budgets.step(store, now)
    (before,) = budgets.active.firing()

    again = Budgets(
        Burns(SloFiles(str(tmp_path / "slo.yaml"))),
        budgets.maker,
        ActiveAlerts(),
        into_store(store),
        budgets.level,
    )
    again.resume(fetch_firing(store))
    again.step(store, now + 60)

    (after,) = again.active.firing()
    assert (before.incident, dict(before.labels), before.starts) == (
        after.incident,
        dict(after.labels),
        after.starts,
    )


def test_a_burn_is_told_for_a_while_only_if_it_lasts(store: Store, budgets: Budgets, now: float) -> None:
    """What stopped burning while the service was away ends at the first look."""
    fill(store, now, 0.2)
    budgets.step(store, now)
    store.command("TRUNCATE TABLE requests")
    fill(store, now + 3600, 0.0, 30)
    again = Budgets(Burns(budgets.burns._slo_files), budgets.maker, ActiveAlerts(), into_store(store))

    again.resume(fetch_firing(store))
    again.step(store, now + 3600)

    assert [] == again.active.firing()
    assert 1 == len(again.active.ended_since(datetime.fromtimestamp(now, UTC) - timedelta(hours=1)))
    # Kept too: the command and the API list nothing that is over, and another restart takes nothing over.
    assert [] == fetch_firing(store)
    assert {"model": "m", "slo": "first-token"} == rows(store)[-1]["where"]
