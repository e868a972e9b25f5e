"""/heatmap, /requests, /marks and /reports: bodies are the commands', tenants hold, faults are told."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.heatmap_object import Words, ask_heatmap, heatmap_object
from otel_attrib.analytics.request_object import ask_requests, requests_object
from otel_attrib.schema.store import Store

Api = Any  # the client of conftest.py, which is no module to import from
AT = "newest"


def shown(body: dict[str, Any]) -> dict[str, Any]:
    """A body as JSON has it."""
    found: dict[str, Any] = json.loads(json.dumps(body))
    return found


def test_the_heat_map_is_the_commands(api: Api, filled: Store) -> None:
    """The body is what `heatmap --json` prints for the same words."""
    answer = api.get("/heatmap", params={"metric": "tbt", "last": "20m", "step": "1m", "bins": 12, "at": AT})

    words = Words("tbt", 0.99, "20m", "1m", 12, parse_filter([]), AT)
    expected = heatmap_object(*ask_heatmap(filled, words))
    assert (200, shown(expected)) == (answer.status_code, answer.json())


def test_from_and_to_name_the_span(api: Api) -> None:
    """`from` and `to` are the same span as `last` with two dots."""
    body = api.get("/heatmap", params={"last": "30m", "at": AT, "step": "1m"}).json()
    ends = {"from": body["times"][0], "to": body["end"]}

    again = api.get("/heatmap", params={**ends, "step": "1m"}).json()

    assert (body["cells"], body["quantile_ms"]) == (again["cells"], again["quantile_ms"])


def test_a_cells_requests_are_listed(api: Api) -> None:
    """The requests between a row's edges, in a column's time, are as many as the cell counts."""
    body = api.get("/heatmap", params={"last": "30m", "at": AT, "step": "5m", "bins": 8}).json()
    column, row, count = max(body["cells"], key=lambda cell: cell[2])
    times = [*body["times"], body["end"]]

    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = {"cursor": cursor} if cursor else {}
        limits = {"above_ms": body["edges_ms"][row], "below_ms": body["edges_ms"][row + 1]}
        span = {"from": times[column], "to": times[column + 1]}
        answer = api.get("/requests", params={**span, **limits, **page, "limit": 97}).json()
        items, cursor = [*items, *answer["items"]], answer["next"]
        if cursor is None:
            break

    assert count == len(items) == len({item["span_id"] for item in items})
    values = [item["ttft_ms"] for item in items]
    assert sorted(values, reverse=True) == values
    assert body["edges_ms"][row] <= min(values) and max(values) < body["edges_ms"][row + 1]


def test_requests_are_the_commands(api: Api, filled: Store) -> None:
    """The body is what `requests --json` prints for the same words."""
    words = {"metric": "e2e", "window": "10m", "at": AT, "order": "newest", "limit": 5}
    answer = api.get("/requests", params=words)

    page = ask_requests(filled, "e2e", "10m", parse_filter([]), AT, None, None, "newest", 5, None)
    expected = shown(requests_object("e2e", page))
    assert (200, expected["items"]) == (answer.status_code, answer.json()["items"])


@pytest.mark.parametrize("path", ["/heatmap", "/requests"])
def test_another_tenant_is_forbidden(guarded: Api, path: str) -> None:
    """A reader of acme who names zen gets 403, and without a name sees acme alone."""
    words = {"window" if path == "/requests" else "last": "30m", "at": AT}

    assert 403 == guarded.get(path, "acme", params={**words, "where": "tenant=zen"}).status_code
    both, acme, zen = (guarded.get(path, token, params=words).json() for token in ("all", "acme", "zen"))
    if path == "/heatmap":
        assert both["n"] == acme["n"] + zen["n"] > acme["n"] > 0
        assert {"acme-only", "v2"} == {mark["name"] for mark in acme["marks"]}
    else:
        assert {"acme"} == {item["tenant"] for item in acme["items"]}


def test_a_cursor_of_another_caller_shows_nothing_more(guarded: Api) -> None:
    """Another caller's cursor is refused: what the caller may see belongs to the question."""
    words = {"window": "30m", "at": AT, "limit": 1}
    cursor = guarded.get("/requests", "all", params=words).json()["next"]

    answer = guarded.get("/requests", "acme", params={**words, "cursor": cursor})

    assert (422, True) == (answer.status_code, "of another question" in answer.json()["detail"])


def test_marks_of_other_tenants_are_left_out(guarded: Api) -> None:
    """A tenant's mark is listed for those who see the tenant; one without a tenant for everybody."""
    seen = {
        token: sorted(mark["name"] for mark in guarded.get("/marks", token).json()["items"])
        for token in ("all", "acme", "zen")
    }

    assert {
        "all": ["acme-only", "v2", "zen-only"],
        "acme": ["acme-only", "v2"],
        "zen": ["v2", "zen-only"],
    } == seen


def test_a_mark_is_kept_and_found_at_once(guarded: Api) -> None:
    """Who may write keeps a mark, and the next list has it; who may only read gets 403."""
    mark = {"name": "kept", "kind": "drill", "service": "search", "attributes": {"why": "a test"}}
    before = datetime.now(UTC)

    refused = guarded.ask("POST", "/api/v1/marks", "all", json=mark)
    answer = guarded.ask("POST", "/api/v1/marks", "scribe", json=mark)

    assert (403, 201) == (refused.status_code, answer.status_code)
    (kept,) = answer.json()["items"]
    assert mark == {name: kept[name] for name in mark}
    assert datetime.fromisoformat(kept["time"]) >= before
    assert kept in guarded.get("/marks", "all", params={"kind": "drill"}).json()["items"]


def test_somebody_with_tenants_marks_for_one_of_them(guarded: Api) -> None:
    """A mark by a writer of acme is acme's, and none of another tenant."""
    mark = {"name": "scoped", "kind": "drill"}
    others = {**mark, "attributes": {"tenant": "zen"}}

    answer = guarded.ask("POST", "/api/v1/marks", "acme-scribe", json=mark)
    refused = guarded.ask("POST", "/api/v1/marks", "acme-scribe", json=others)

    assert ({"tenant": "acme"}, 403) == (answer.json()["items"][0]["attributes"], refused.status_code)
    names = [item["name"] for item in guarded.get("/marks", "zen").json()["items"]]
    assert "scoped" not in names


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "", "kind": "deploy"},
        {"name": "v1"},
        {"name": "v1", "kind": "x" * 41},
        {"name": "v1\n", "kind": "deploy"},
        {"name": "v1", "kind": "deploy", "attributes": {"a": 1}},
        {"name": "v1", "kind": "deploy", "attributes": {str(i): "" for i in range(33)}},
        {"name": "v1", "kind": "deploy", "time": "yesterday"},
        {"name": "v1", "kind": "deploy", "time": "2099-01-01T00:00:00Z"},
        {"name": "v1", "kind": "deploy", "other": 1},
    ],
)
def test_what_is_no_mark(api: Api, body: dict[str, Any]) -> None:
    """A body that is no mark is refused with 422 and why."""
    answer = api.ask("POST", "/api/v1/marks", json=body)

    assert (422, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert answer.json()["detail"]


def test_reports_of_a_tenant(guarded: Api) -> None:
    """A reader of acme sees acme's incidents and bodies; zen's are not there."""
    listed = {
        token: [item["incident"] for item in guarded.get("/reports", token).json()["items"]]
        for token in ("all", "acme", "zen")
    }
    one = guarded.get("/reports/incident-acme", "acme").json()["items"]

    assert {"incident-acme", "incident-zen"} == set(listed["all"])
    assert (["incident-acme"], ["incident-zen"]) == (listed["acme"], listed["zen"])
    assert ["otel-attrib/why/1"] == [item["report"]["schema"] for item in one]
    assert 404 == guarded.get("/reports/incident-zen", "acme").status_code
    assert 404 == guarded.get("/reports/nothing", "all").status_code


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/heatmap?last=2d&step=10s", "columns are more than 1500"),
        ("/heatmap?bins=0", "bins"),
        ("/heatmap?bins=241", "bins"),
        ("/heatmap?step=0s", "is no duration"),
        ("/heatmap?from=2026-05-01T12:00:00Z", "give from and to, both"),
        ("/heatmap?from=2026-05-01T12:00:00Z&to=2026-05-01T12:00:00Z", "is empty"),
        ("/heatmap?from=2026-05-01T12:00:00Z&to=2026-05-01T13:00:00Z&last=1h", "not all of them"),
        ("/heatmap?from=2199-05-01T12:00:00Z&to=2199-05-01T13:00:00Z", "after 2105"),
        ("/heatmap?where=colour=red", "no dimension 'colour'"),
        ("/requests?cursor=x", "is no cursor"),
        ("/requests?limit=0", "limit"),
        ("/requests?limit=1001", "limit"),
        ("/requests?order=fastest", "order"),
        ("/requests?above_ms=2&below_ms=1", "no latency lies"),
        ("/requests?above_ms=nan", "above_ms"),
        ("/marks?cursor=0000000000", "is no cursor"),
        ("/marks?last=forever", "is no duration"),
        ("/reports?since=forever", "is no duration"),
        ("/reports?cursor=%00", "is no cursor"),
    ],
)
def test_what_cannot_be_used_is_told(api: Api, path: str, said: str) -> None:
    """A parameter that cannot be used is refused with 422, by name or by what is wrong."""
    answer = api.get(path)

    assert (422, True) == (answer.status_code, said in answer.json()["detail"]), answer.json()


def test_an_empty_span(api: Api) -> None:
    """An empty span has columns, no cells, and no number that was not measured."""
    body = api.get("/heatmap", params={"last": "2001-01-01T00:00:00Z..2001-01-01T01:00:00Z"}).json()

    assert (0, [], [], {None}) == (body["n"], body["cells"], body["edges_ms"], set(body["quantile_ms"]))
    assert 120 == len(body["times"])
