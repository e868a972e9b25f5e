"""/slo, /slo/{name} and /slo/derive: the command's JSON, a caller's tenants, and counts that are kept."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.objectives.writing import openslo_yaml
from otel_attrib.cli import main
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "2026-05-01T13:00:00Z"
DAY = timedelta(days=1)
FAST = (Limit("ttft", 150.0),)
FILE = openslo_yaml(
    [
        Objective("all", "", EVERY_REQUEST, FAST, target=0.9, window=DAY),
        Objective("zen-only", "", parse_filter(["tenant=zen"]), FAST, target=0.9, window=DAY),
    ]
)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """An hour of two tenants: acme's requests are fast, half of zen's are slow."""
    with open_store("chdb://memory/service_slo") as opened:
        migrate(opened)
        opened.insert_arrow("requests", hour(NOON))
        yield opened


def hour(start: datetime) -> pa.Table:
    """Two requests a second, acme's and zen's."""
    n = 7200
    tenants = ["acme" if i % 2 else "zen" for i in range(n)]
    return pa.table(
        {
            "time": pa.array(
                [start + timedelta(seconds=i // 2) for i in range(n)], pa.timestamp("us", "UTC")
            ),
            "service": ["chat"] * n,
            "model": ["m"] * n,
            "tenant": tenants,
            "status": ["ok"] * n,
            "output_tokens": pa.array([9] * n, pa.uint32()),
            "ttft_us": [200_000.0 if i % 4 == 0 else 100_000.0 for i in range(n)],
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two objectives, one on all requests, one on zen's."""
    path = tmp_path / "slo.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def guarded(store: Store, file: Path, tokens: Path, make_api: Callable[..., Any]) -> Any:
    """The application with these objectives and with tokens."""
    return make_api(store, slo=str(file), tokens=str(tokens))


def items(answer: Any) -> dict[str, tuple[int, int]]:
    """Name → (good, total)."""
    assert 200 == answer.status_code, answer.text
    return {item["name"]: (item["good"], item["total"]) for item in answer.json()["items"]}


def test_the_answer_is_the_commands(
    store: Store, file: Path, make_api: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """GET /slo and /slo/derive give what `slo --json` and `slo derive --json` print."""
    api = make_api(store, slo=str(file))
    common = ("--file", str(file), "--at", AT, "--json", "--dsn", store.dsn.text)

    for path, words in (("/slo", ["slo"]), ("/slo/derive", ["slo", "derive", "--last", "1d"])):
        assert 0 == main([*words, *common])
        printed = json.loads(capsys.readouterr().out)
        last = "&last=1d" if "derive" in path else ""
        assert printed == api.get(f"{path}?at={AT}{last}").json()


def test_an_objective_on_another_tenant_is_not_there(guarded: Any) -> None:
    """zen's objective is zen's alone; the one on all is counted on the caller's requests."""
    assert {"all": (5400, 7200), "zen-only": (1800, 3600)} == items(guarded.get(f"/slo?at={AT}", "all"))
    assert {"all": (3600, 3600)} == items(guarded.get(f"/slo?at={AT}", "acme"))
    assert {"all": (1800, 3600), "zen-only": (1800, 3600)} == items(guarded.get(f"/slo?at={AT}", "zen"))
    assert 404 == guarded.get(f"/slo/zen-only?at={AT}", "acme").status_code
    assert 404 == guarded.get(f"/slo/nobody?at={AT}", "all").status_code
    assert 401 == guarded.get("/slo").status_code


def test_history_adds_up(guarded: Any) -> None:
    """/slo/{name} is the item of /slo; with history its stretches add up to the window."""
    (item,) = [i for i in guarded.get(f"/slo?at={AT}", "all").json()["items"] if i["name"] == "zen-only"]

    alone = guarded.get(f"/slo/zen-only?at={AT}", "all").json()
    assert {"schema": "otel-attrib/slo/1", **item} == alone
    history = guarded.get(f"/slo/zen-only?at={AT}&history=true", "all").json()["history"]
    assert (1800, 3600) == tuple(sum(point[key] for point in history) for key in ("good", "total"))


def test_derive_keeps_to_the_callers_tenants(guarded: Any) -> None:
    """Endpoints are derived from the caller's requests, and held against the objectives that they see."""

    def asked(token: str) -> tuple[int, list[str]]:
        (endpoint,) = guarded.get(f"/slo/derive?last=1d&at={AT}", token).json()["endpoints"]
        return endpoint["n"], [each["objective"] for each in endpoint["promised"]]

    assert (7200, ["all"]) == asked("all")
    assert (3600, ["all"]) == asked("acme")
    assert (3600, ["all", "zen-only"]) == asked("zen")
    assert 403 == guarded.get("/slo/derive?where=tenant=zen", "acme").status_code


def test_now_is_kept_and_brought_up_to_date(
    store: Store, file: Path, make_api: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for now, counts are kept between questions and still hold what has arrived since."""
    monkeypatch.setattr("otel_attrib.analytics.service.routes.slo.KEPT_SECONDS", 0.0)
    api = make_api(store, slo=str(file))
    assert {"all": (0, 0), "zen-only": (0, 0)} == items(api.get("/slo"))

    store.insert_arrow("requests", hour(datetime.now(UTC) - timedelta(minutes=61)).slice(7200 - 1200, 600))
    try:
        assert {"all": (450, 600), "zen-only": (150, 300)} == items(api.get("/slo"))
    finally:
        store.command("ALTER TABLE requests DELETE WHERE time > '2026-05-02' SETTINGS mutations_sync = 1")


def test_without_objectives_the_list_is_empty(store: Store, make_api: Callable[..., Any]) -> None:
    """No setting is no fault."""
    assert {"schema": "otel-attrib/slo/1", "items": []} == make_api(store).get("/slo").json()


def test_a_file_that_cannot_be_read_is_told(
    store: Store, tmp_path: Path, tokens: Path, make_api: Callable[..., Any]
) -> None:
    """As a problem with the line, to callers of all tenants; others learn nothing of what stands in it."""
    (tmp_path / "slo.yaml").write_text("a: 1\n")
    api = make_api(store, slo=str(tmp_path / "slo.yaml"), tokens=str(tokens))
    answer, scoped = api.get("/slo", "all"), api.get("/slo", "acme")

    assert "application/problem+json" == answer.headers["content-type"]
    assert f"{tmp_path}/slo.yaml:1: no field 'a' here" in answer.json()["detail"]
    assert "the objectives cannot be read; whoever runs the service sees why" == scoped.json()["detail"]


def test_a_file_that_breaks_leaves_its_objectives_and_says_so(guarded: Any, file: Path) -> None:
    """The objectives stay in force, and `fault` tells callers of all tenants what is wrong."""
    before = guarded.get(f"/slo?at={AT}", "all").json()
    assert "fault" not in before
    file.write_text(FILE + "a: [")
    os.utime(file, (0, 0))

    broken = guarded.get("/slo?at=2026-05-01T13:00:01Z", "all").json()
    assert before["items"] == broken["items"]
    assert broken["fault"].startswith(f"{file}:")
    assert "fault" not in guarded.get("/slo?at=2026-05-01T13:00:01Z", "acme").json()
