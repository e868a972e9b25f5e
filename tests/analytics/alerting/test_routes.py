"""/alerts and /alerts/silences: made, listed, ended; who sees and may silence what."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.restore import ended_row
from otel_attrib.analytics.detection.incident import OPEN
from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.analytics.service.tokens import Token, hash_of, write_tokens
from otel_attrib.config import Settings
from otel_attrib.schema.reports import into_store
from otel_attrib.schema.store import Store

Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(store: Store, tmp_path: Path) -> Iterator[Ask]:
    """A request as the holder of a token: admin, reader, or writer of one tenant."""
    tokens = tmp_path / "tokens.toml"
    write_tokens(
        tokens,
        [
            Token("admin", hash_of("admin"), "admin"),
            Token("reader", hash_of("reader"), "read"),
            Token("acme", hash_of("acme"), "write", ("acme",)),
        ],
    )
    runbooks = Path(__file__).parents[3] / "docs/runbooks"
    behind = Behind(lambda: store, lambda: "", lambda host: {}, runbooks=runbooks)
    app = service_app(Settings(tokens=str(tokens)), behind)
    with asyncio.Runner() as runner:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

        def send(method: str, path: str, token: str = "admin", **more: Any) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return runner.run(client.request(method, path, headers=headers, **more))

        yield send
        runner.run(client.aclose())
        Ending(app).stop(2)


def silence(*matchers: str, **more: str) -> dict[str, Any]:
    """A body."""
    return {"matchers": list(matchers), "comment": "load test", **more}


def test_made_listed_ended(ask: Ask) -> None:
    """A silence is there once it is made, under the token's name, and gone once it is ended."""
    made = ask("POST", "/api/v1/alerts/silences", json=silence("model=m", lasts="1h"))
    listed = ask("GET", "/api/v1/alerts").json()["silences"]
    (one,) = made.json()["silences"]

    assert 201 == made.status_code
    assert [one] == listed
    assert ("admin", ["model=m"], "active") == (one["created_by"], one["matchers"], one["state"])
    ended = ask("DELETE", f"/api/v1/alerts/silences/{one['id']}")
    assert (200, "expired") == (ended.status_code, ended.json()["silences"][0]["state"])
    assert [] == ask("GET", "/api/v1/alerts").json()["silences"]
    assert 404 == ask("DELETE", f"/api/v1/alerts/silences/{one['id']}").status_code


@pytest.mark.parametrize(
    "body",
    [
        {},
        silence(),
        silence("model"),
        silence("model=~("),
        silence("a=b", ends="2020-01-01T00:00:00Z"),
        silence("a=b", lasts="soon"),
        {**silence("a=b"), "color": "red"},
    ],
)
def test_refused(ask: Ask, body: dict[str, Any]) -> None:
    """What is no silence is 422 with what to write, not 500."""
    answer = ask("POST", "/api/v1/alerts/silences", json=body)

    assert 422 == answer.status_code
    assert answer.json()["detail"]


def test_a_reader_silences_nothing(ask: Ask) -> None:
    """Making and ending need role write."""
    assert 403 == ask("POST", "/api/v1/alerts/silences", "reader", json=silence("a=b")).status_code
    assert 403 == ask("DELETE", "/api/v1/alerts/silences/x", "reader").status_code


def test_a_tenant_sees_and_silences_its_own(ask: Ask) -> None:
    """Who writes for one tenant silences alerts that name it, and sees and ends no other silence."""
    (other,) = ask("POST", "/api/v1/alerts/silences", json=silence("tenant=zen")).json()["silences"]

    assert 403 == ask("POST", "/api/v1/alerts/silences", "acme", json=silence("model=m")).status_code
    made = ask("POST", "/api/v1/alerts/silences", "acme", json=silence("tenant=acme", "model=m"))
    assert 201 == made.status_code
    seen = ask("GET", "/api/v1/alerts", "acme").json()["silences"]
    assert [["tenant=acme", "model=m"]] == [one["matchers"] for one in seen]
    assert 404 == ask("DELETE", f"/api/v1/alerts/silences/{other['id']}", "acme").status_code


def test_related_alerts_of_others_are_not_told(ask: Ask, store: Store) -> None:
    """Two tenants' budgets burn at once: each sees its own alert, and of the other's not even the name."""
    for tenant, other in (("acme", "zen"), ("zen", "acme")):
        labels = {"alertname": "SloBurnPage", "tenant": tenant, "slo": f"{tenant}-chat", "incident": tenant}
        burn = Alert(tenant, labels, {"related": f"SloBurnPage {other}-chat"}, datetime.now(UTC))
        into_store(store)(replace(ended_row(burn), state=OPEN))

    everything, own = (ask("GET", "/api/v1/alerts", token) for token in ("reader", "acme"))

    assert ["SloBurnPage zen-chat", "SloBurnPage acme-chat"] == [
        item["annotations"]["related"] for item in everything.json()["items"]
    ]
    assert ["acme"] == [item["incident"] for item in own.json()["items"]]
    assert "zen" not in own.text


def test_the_oldest_alert_is_first(ask: Ask, store: Store) -> None:
    """The order is that in which alerts began, whichever was reported last."""
    now = datetime.now(UTC)
    keep = into_store(store)
    for incident, age_s, reported_s in (("first", 600, 60), ("second", 300, 40), ("first", 600, 20)):
        labels = {"alertname": "SloBurnPage", "incident": incident}
        burn = Alert(incident, labels, {}, now - timedelta(seconds=age_s))
        keep(replace(ended_row(burn), state=OPEN, time=now - timedelta(seconds=reported_s)))

    found = ask("GET", "/api/v1/alerts", "reader").json()["items"]

    assert ["first", "second"] == [item["incident"] for item in found]


def test_runbooks_need_no_token(ask: Ask) -> None:
    """A link in an alert leads to its runbook, whoever follows it."""
    answer = ask("GET", "/runbooks/LatencyRegression.md", "")

    assert 200 == answer.status_code
    assert answer.text.startswith("# LatencyRegression\n")
    assert 404 == ask("GET", "/runbooks/../alerts.md", "").status_code
