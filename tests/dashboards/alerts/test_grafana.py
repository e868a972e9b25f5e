"""Grafana-managed rules: their statements run on a store and count as the objectives do."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from otel_attrib.analytics.alerting.kinds import GRAFANA, KINDS
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective, attain, load_objectives
from otel_attrib.analytics.windows import Window
from otel_attrib.dashboards.alerts import grafana_rules
from otel_attrib.dashboards.alerts.clickhouse import burn_sql, incidents_sql
from otel_attrib.dashboards.alerts.grafana import api_bodies
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

ROOT = Path(__file__).parents[3]
TWO = Limit("ttft", 100), Limit("tpot", 25)
LINKS = Links("https://otel-attrib.example", "https://runbooks.example")
N = 3000


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """Requests of the last five hours; one in ten failed, classes and tenants mixed."""
    rng = np.random.default_rng(1)
    now = int(datetime.now(UTC).timestamp() * 1e6)
    ttft = rng.lognormal(11.5, 0.6, N)
    with open_store("chdb://memory/grafana_rules") as opened:
        migrate(opened)
        opened.insert_arrow(
            "requests",
            pa.table(
                {
                    "time": pa.array(now - rng.integers(0, 5 * 3_600_000_000, N), pa.timestamp("us", "UTC")),
                    "service": ["s"] * N,
                    "model": ["it's $a\\b"] * N,
                    "sla_class": rng.choice(["gold", "silver", "bronze"], N).tolist(),
                    "status": np.where(rng.random(N) < 0.1, "error", "ok").tolist(),
                    "output_tokens": pa.array([9] * N, pa.uint32()),
                    "ttft_us": ttft,
                    "tpot_us": rng.lognormal(10, 0.5, N),
                    "e2e_us": ttft * 5,
                    "weight": rng.choice([1, 5], N).astype(np.uint32),
                }
            ),
        )
        yield opened


def rules() -> list[dict[str, Any]]:
    """All rules of the shipped objectives."""
    content = yaml.safe_load(grafana_rules(load_objectives(ROOT / "examples/slo"), LINKS).text)
    return [rule for group in content["groups"] for rule in group["rules"]]


@pytest.mark.parametrize(
    "objective",
    [
        Objective("one", "", parse_filter(["sla_class=gold"]), (Limit("ttft", 135),)),
        Objective("joint", "", parse_filter([]), TWO, joint=True),
        Objective(
            "each",
            "",
            parse_filter(["model=it's $a\\b"]),
            TWO,
            joint=False,
        ),
    ],
    ids=lambda objective: objective.name,
)
def test_burn_is_the_objectives(store: Store, objective: Objective) -> None:
    """The number of a rule is how often over its alerting rate a budget burns, counted as objectives are."""
    pairs = [pair for pair in objective.pairs() if pair.severity == "page"]

    ((burning,),) = (tuple(row.values()) for row in store.rows(burn_sql(objective, pairs)))

    def rate(window: timedelta, limits: tuple[Limit, ...]) -> float:
        now = datetime.now(UTC)
        one = Objective("x", "", objective.where, limits, joint=True)
        found = attain(store, one, Window(now - window, now))
        return (found.total - found.good) / found.total / objective.budget

    alone = [objective.limits] if objective.joint else [(limit,) for limit in objective.limits]
    expected = max(
        min(rate(pair.long, limits), rate(pair.short, limits)) / pair.factor
        for limits in alone
        for pair in pairs
    )
    # A request may have left the shortest window between the two statements.
    assert pytest.approx(expected, rel=0.03) == burning
    assert burning > 0


def test_no_request_is_no_burn(store: Store) -> None:
    """Without requests the number is 0, not missing and not infinite."""
    objective = Objective("none", "", parse_filter(["model=other"]), (Limit("ttft", 100),))

    assert [{"burning": 0.0}] == store.rows(burn_sql(objective, objective.pairs()))


def test_every_statement_runs(store: Store) -> None:
    """Each rule's statement is one that the store takes; no open incident is no row."""
    statements = [rule["data"][0]["model"]["rawSql"] for rule in rules()]

    assert len(statements) == 7
    for text in statements:
        store.rows(text)
    assert [] == store.rows(incidents_sql())


def test_shape() -> None:
    """A rule has what Grafana's provisioning asks for: query, reduce, threshold, a stable uid."""
    for rule in rules():
        query, reduce, threshold = rule["data"]
        assert ("A", "B", "C") == tuple(part["refId"] for part in rule["data"])
        assert "C" == rule["condition"]
        assert ("__expr__", "__expr__") == (reduce["datasourceUid"], threshold["datasourceUid"])
        assert ("A", "B") == (reduce["model"]["expression"], threshold["model"]["expression"])
        assert query["relativeTimeRange"]["from"] > 0
        assert len(rule["uid"]) <= 40
        assert rule["annotations"]["runbook_url"].startswith("https://runbooks.example/")
    uids = [rule["uid"] for rule in rules()]
    assert len(set(uids)) == len(uids)
    assert uids == [rule["uid"] for rule in rules()]


def test_alerts_of_grafana() -> None:
    """The alerts are those that the table of alerts says Grafana raises."""
    assert {name for name, kind in KINDS.items() if GRAFANA in kind.by} == {
        rule["labels"]["alertname"] for rule in rules()
    }


def test_bodies_for_the_api() -> None:
    """The same rules as bodies of the provisioning API, each with its folder and group."""
    bodies = json.loads(api_bodies(load_objectives(ROOT / "examples/slo"), LINKS))

    assert [rule["uid"] for rule in rules()] == [body["uid"] for body in bodies]
    assert {"otel-attrib"} == {body["folderUID"] for body in bodies}
    assert all(body["ruleGroup"] for body in bodies)
