"""/slo/thresholds, arbiter, budget and pressure: what they answer, and whom they answer what."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.analytics.service.tokens import Token, hash_of, write_tokens
from otel_attrib.config import Settings
from otel_attrib.schema.decisions import DecisionRow, decision_into_store, decision_rows
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "at=2026-05-01T12:00:00Z"
Put = Callable[..., None]
Get = Callable[..., httpx.Response]
SLO = """
apiVersion: openslo/v1
kind: SLO
metadata: {{name: {name}}}
spec:
  service: chat
  indicator:
    metadata: {{name: within}}
    spec:
      ratioMetric:
        counter: true
        good: {{metricSource: {{type: otel-attrib, spec: {{limits: {{ttft: 100ms}}, where: {where}}}}}}}
        total: {{metricSource: {{type: otel-attrib, spec: {{where: {where}}}}}}}
  timeWindow: [{{duration: 30d, isRolling: true}}]
  budgetingMethod: Occurrences
  objectives: [{{target: 0.99}}]
"""


@pytest.fixture
def get(store: Store, put: Put, tmp_path: Path) -> Iterator[Get]:
    """A GET as the holder of a token, over two tenants' requests and three objectives."""
    put(store, "acme", 100, 1.0)
    put(store, "zen", 100, 1.5)
    file = tmp_path / "slo.yaml"
    wheres = {"chat-all": "{service: chat}", "acme-own": "{tenant: acme}", "zen-own": "{tenant: zen}"}
    file.write_text("---".join(SLO.format(name=name, where=where) for name, where in wheres.items()))
    tokens = tmp_path / "tokens.toml"
    write_tokens(
        tokens,
        [
            Token("all", hash_of("all"), "read"),
            Token("acme", hash_of("acme"), "read", ("acme",)),
        ],
    )
    settings = Settings(slo=str(file), tokens=str(tokens))
    app = service_app(settings, Behind(lambda: store, lambda: "", lambda host: {}))
    with asyncio.Runner() as runner:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")

        def got(path: str, token: str = "all") -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            return runner.run(client.get(f"/api/v1/slo/{path}", headers=headers))

        yield got
        Ending(app).stop(1)
        runner.run(client.aclose())
    store.command("TRUNCATE TABLE threshold_decisions")


def items(answer: httpx.Response) -> list[dict[str, Any]]:
    """The items of an answer that has to be one."""
    assert 200 == answer.status_code, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_thresholds(get: Get) -> None:
    """Every latency of every objective gets a decision and a sentence; nothing is kept."""
    body = get(f"thresholds?{AT}").json()

    assert ("otel-attrib/thresholds/1", False) == (body["schema"], body["applied"])
    assert ["chat-all", "acme-own", "zen-own"] == [item["objective"] for item in body["items"]]
    assert {"not enough data"} == {item["decision"] for item in body["items"]}
    assert all(item["sentence"] and item["recommended_ms"] == 100.0 for item in body["items"])


def test_reading_keeps_nothing(get: Get, store: Store) -> None:
    """However often it is asked, the log stays empty: a GET is a dry run."""
    for _ in range(2):
        get(f"thresholds?{AT}&period=1m&day=1h")

    assert [] == decision_rows(store, NOON - timedelta(days=9), NOON)


def test_arbiter_and_budget(get: Get) -> None:
    """Who sees all gets both tenants, in breach by 1.425; budgets add up to what is divided."""
    arbiter = {item["tenant"]: item["factor"] for item in items(get(f"arbiter?{AT}"))}
    budget = items(get(f"budget?{AT}&total=1000&policy=throttle"))

    assert {"acme": 0.95, "zen": 1.425} == arbiter
    assert 1000.0 == pytest.approx(sum(item["tokens_s"] for item in budget))
    assert "nothing is changed" in get(f"arbiter?{AT}").json()["note"]


def test_pressure_is_what_keda_reads(get: Get) -> None:
    """`value` is a number; an unknown objective and one without requests are 404, never 0."""
    body = get(f"pressure?name=acme-own&{AT}").json()

    assert 0.99 == pytest.approx(body["value"], rel=0.0101)
    assert 404 == get(f"pressure?name=nobody&{AT}").status_code
    assert 404 == get("pressure?name=acme-own&at=2026-05-02T12:00:00Z").status_code


def test_another_tenants_things_are_not_there(get: Get) -> None:
    """Acme has no word of zen: not in a decision, a factor, a budget, nor its objective's number."""
    paths = (f"thresholds?{AT}&log=1d", f"arbiter?{AT}", f"budget?{AT}&total=1000&weight=zen%3D9")
    answers = [get(path, "acme") for path in paths]

    assert {200} == {answer.status_code for answer in answers}
    assert not any("zen" in answer.text for answer in answers)
    assert 404 == get(f"pressure?name=zen-own&{AT}", "acme").status_code
    assert 200 == get(f"pressure?name=zen-own&{AT}").status_code
    assert [1000.0] == [item["tokens_s"] for item in items(answers[2])]


def test_the_log_is_not_for_one_tenant(get: Get, store: Store) -> None:
    """Kept decisions rest on everybody's requests: who sees all gets them, who sees one tenant none."""
    moved = DecisionRow(
        time=NOON,
        decided=NOON,
        objective="chat-all",
        metric="ttft",
        quantile=0.99,
        word="raise",
        limit_ms=100.0,
        before_ms=100.0,
        after_ms=110.0,
        candidate_ms=110.0,
        day_ms=111.0,
        baseline_ms=None,
        buffer_ms=None,
        periods_ms=(110.0,),
        periods_n=(9,),
        rule="{}",
        sentence="because",
    )
    decision_into_store(store)(moved)
    everybody, own = (get(f"thresholds?{AT}&log=1d", token).json()["log"] for token in ("all", "acme"))

    assert ["because"] == [row["sentence"] for row in everybody]
    assert [] == own


@pytest.mark.parametrize(
    "path",
    [
        "budget?total=0",
        "budget?weight=acme",
        "arbiter?policy=x",
        "arbiter?metric=tpot",
        "thresholds?period=7s",
    ],
)
def test_what_cannot_be_asked(get: Get, path: str) -> None:
    """A value that cannot be used is 422 with what is wrong."""
    answer = get(path)

    assert 422 == answer.status_code and answer.json()["detail"]
