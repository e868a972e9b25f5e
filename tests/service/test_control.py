"""/slo/thresholds, arbiter, budget and pressure: what they answer, and whom they answer what."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.objectives.writing import openslo_yaml
from otel_attrib.schema.decisions import DecisionRow, decision_into_store, decision_rows
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "at=2026-05-01T12:00:00Z"
WHOSE = {"chat-all": "service=chat", "acme-own": "tenant=acme", "zen-own": "tenant=zen"}
Get = Callable[..., httpx.Response]


@pytest.fixture
def get(store: Store, tokens: Path, tmp_path: Path, make_api: Callable[..., Any]) -> Get:
    """A GET below /slo as the holder of a token, over two tenants' requests and three objectives."""
    store.insert_arrow("requests", minute("acme", 1.0))
    store.insert_arrow("requests", minute("zen", 1.5))
    file = tmp_path / "slo.yaml"
    limits = (Limit("ttft", 100.0),)
    file.write_text(
        openslo_yaml([Objective(name, "", parse_filter([whose]), limits) for name, whose in WHOSE.items()])
    )
    api = make_api(store, slo=str(file), tokens=str(tokens))
    return lambda path, token="all": api.get(f"/slo/{path}", token)


def minute(tenant: str, unit: float) -> pa.Table:
    """A hundred requests of a tenant in the minute before noon; TTFT 1 … 100 times `unit` ms."""
    n = 100
    return pa.table(
        {
            "time": pa.array(
                [NOON - timedelta(milliseconds=600 * (k + 1)) for k in range(n)], pa.timestamp("us", "UTC")
            ),
            "service": ["chat"] * n,
            "tenant": [tenant] * n,
            "status": ["ok"] * n,
            "prompt_tokens": pa.array([100] * n, pa.uint32()),
            "output_tokens": pa.array([10] * n, pa.uint32()),
            "ttft_us": [1000.0 * unit * (k + 1) for k in range(n)],
        }
    )


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
