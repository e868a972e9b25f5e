"""Who may ask what: every route of the OpenAPI document, held to a rule; a route without one fails."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from otel_attrib.analytics.service.app import Behind, service_app
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any

ACME, ZEN = f"{10:08x}{5:024x}", f"{11:08x}{5:024x}"


@dataclass(frozen=True)
class Rule:
    """How one operation is asked with data behind it, and what of it belongs to whom.

    The answers to `shows` name both tenants to who sees all; those to `calls` need not. `others` ask for what
    is zen's, which acme must not get. `writes` is a body that needs role write, `foreign` one that makes
    something of zen's. `open` answers without a token, `streams` never ends by itself.
    """

    shows: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    writes: dict[str, Any] | None = None
    foreign: dict[str, Any] | None = None
    open: bool = False
    streams: bool = False


RULES = {
    "quantiles": Rule(shows=("/quantiles?by=tenant&last=30m", "/quantiles?by=tenant&exact=true")),
    "why": Rule(
        calls=("/why?window=10m&baseline=before", "/why", f"/why?trace={ACME}&metric=e2e"),
        others=(f"/why?trace={ZEN}", "/why?trace=zen-11-5&window=5m"),
    ),
    "diff": Rule(
        calls=("/diff?a=model%3Dm0&b=model%3Dm1",),
        others=("/diff?a=tenant%3Dacme&b=tenant%3Dzen", "/diff?a=2h&b=1h&where=tenant%3Dzen"),
    ),
    "trace": Rule(
        calls=("/trace/acme-10-5", f"/trace/{ACME}?evidence=true"),
        others=(
            f"/trace/{ZEN}",
            f"/trace/{ZEN}?evidence=true",
            "/trace/zen-11-5",
            "/trace/zen",
            "/trace/0000000b",
        ),
    ),
    "status": Rule(calls=("/status",), open=True),
    "heatmap": Rule(shows=("/heatmap?last=30m",)),
    "live": Rule(streams=True),
    "requests": Rule(shows=("/requests?limit=1000", "/requests?order=newest&limit=1000")),
    "marks": Rule(shows=("/marks",)),
    "add_mark": Rule(
        writes={"name": "v3", "kind": "deploy", "attributes": {"tenant": "acme"}},
        foreign={"name": "v3", "kind": "deploy", "attributes": {"tenant": "zen"}},
    ),
    "reports": Rule(shows=("/reports",)),
    "alerts": Rule(calls=("/alerts",)),
    "add_silence": Rule(
        writes={"matchers": ["tenant=acme"], "comment": "acme's drill"},
        foreign={"matchers": ["tenant=zen"], "comment": "zen's drill"},
    ),
    "end_silence": Rule(),  # test_silences_of_others
    "slo": Rule(shows=("/slo",)),
    "slo_derive": Rule(calls=("/slo/derive",)),
    "slo_objective": Rule(
        calls=("/slo/acme-ttft", "/slo/acme-ttft?history=true"),
        others=("/slo/zen-ttft", "/slo/zen-ttft?history=true"),
    ),
    "slo_thresholds": Rule(shows=("/slo/thresholds",), calls=("/slo/thresholds?log=7d",)),
    "slo_arbiter": Rule(shows=("/slo/arbiter",)),
    "slo_budget": Rule(shows=("/slo/budget", "/slo/budget?total=1000")),
    "slo_pressure": Rule(calls=("/slo/pressure?name=acme-ttft",), others=("/slo/pressure?name=zen-ttft",)),
    "report": Rule(calls=("/reports/incident-acme",), others=("/reports/incident-zen",)),
}
"""By operationId. A new route comes with its rule."""


def _no_store() -> Store:
    raise AssertionError("the document needs no store")


DOCUMENT = service_app(Settings(), Behind(_no_store, lambda: "", lambda host: {})).openapi()
ROUTES = {
    operation["operationId"]: (method.upper(), path.removeprefix("/api/v1"), operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if path.startswith("/api/v1")
}


def called(name: str) -> str:
    """A path of the operation, with something in the place of every name."""
    parameters = ROUTES[name][2].get("parameters", ())
    needed = [f"{each['name']}=1h" for each in parameters if each["in"] == "query" and each.get("required")]
    return f"{ROUTES[name][1].replace('{id}', ACME).replace('{', '').replace('}', '')}?{'&'.join(needed)}"


def asked(api: Api, name: str, path: str, token: str = "") -> Any:
    """Ask it, with a body where it takes one."""
    body = RULES[name].writes
    more = {"json": body} if body else {}
    return api.ask(ROUTES[name][0], f"/api/v1{path}", token, **more)


def test_every_route_has_a_rule() -> None:
    """No operation of the API is without a rule here, and no rule without its operation."""
    assert set(ROUTES) == set(RULES)


@pytest.mark.parametrize("name", ROUTES)
def test_nobody_without_a_token(guarded: Api, name: str) -> None:
    """Where tokens are set, a caller without one, and one with a wrong one, gets 401 and nothing else."""
    expected = 200 if RULES[name].open else 401
    for token in ("", "wrong", "acm", "acme "):
        answer = asked(guarded, name, called(name), token.replace(" ", "_"))

        assert expected == answer.status_code
        assert "counters" not in answer.json()
        if expected == 401:
            assert "Bearer" in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("name", ROUTES)
def test_closed_beyond_loopback(make_api: Any, filled: Store, name: str) -> None:
    """Without tokens a service on another address answers 403 and names the setting."""
    answer = asked(make_api(filled, host="0.0.0.0"), name, called(name))

    assert (200 if RULES[name].open else 403) == answer.status_code
    assert RULES[name].open or "OTEL_ATTRIB_TOKENS" in answer.json()["detail"]


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in RULES for path in RULES[name].shows])
def test_answers_hold_own_tenants_only(guarded: Api, name: str, path: str) -> None:
    """What names both tenants to who sees all names one of them, or none, to who sees one."""
    seen = {token: asked(guarded, name, path, token) for token in ("all", "both", "acme", "zen")}

    assert {200} == {answer.status_code for answer in seen.values()}
    bodies = {token: answer.text for token, answer in seen.items()}
    assert all("acme" in bodies[token] and "zen" in bodies[token] for token in ("all", "both"))
    assert "acme" in bodies["acme"] and "zen" not in bodies["acme"]
    assert "zen" in bodies["zen"] and "acme" not in bodies["zen"]


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in RULES for path in RULES[name].calls])
def test_answers_name_no_other_tenant(guarded: Api, name: str, path: str) -> None:
    """An answer about acme's requests is given to acme, and has no word of zen."""
    everybody, own = (asked(guarded, name, path, token) for token in ("all", "acme"))

    assert (200, 200) == (everybody.status_code, own.status_code)
    assert "zen" not in own.text


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in RULES for path in RULES[name].others])
def test_what_is_anothers_is_not_there(guarded: Api, name: str, path: str) -> None:
    """What is zen's is answered to zen or to who sees all, and is 403 or 404 for acme, with no word of it."""
    answer = asked(guarded, name, path, "acme")

    assert asked(guarded, name, path, "all").status_code in (200, 422)  # 422: means several requests
    assert answer.status_code in (403, 404)
    assert set(answer.json()) == {"type", "title", "status", "detail"}


WITH_WHERE = [
    name
    for name, (*_, operation) in ROUTES.items()
    if any(each["name"] == "where" for each in operation.get("parameters", ()))
]


@pytest.mark.parametrize("name", WITH_WHERE)
def test_another_tenant_cannot_be_chosen(guarded: Api, name: str) -> None:
    """`where=tenant=…` of a tenant that is not the caller's is 403 on every route that has `where`."""
    path = f"{called(name)}&where=tenant%3Dzen"

    answer = asked(guarded, name, path, "acme")

    assert (403, "acme may not see requests of tenant 'zen'") == (answer.status_code, answer.json()["detail"])


@pytest.mark.parametrize("name", [name for name in ROUTES if ROUTES[name][0] == "POST"])
def test_writing_needs_its_role(guarded: Api, name: str) -> None:
    """Who may only read writes nothing; who writes for one tenant writes nothing of another's."""
    rule, path = RULES[name], f"/api/v1{called(name)}"

    statuses = [
        guarded.ask(ROUTES[name][0], path, token, json=body).status_code
        for token, body in (("all", rule.writes), ("acme-scribe", rule.foreign), ("acme-scribe", rule.writes))
    ]

    assert [403, 403, 201] == statuses


def test_silences_of_others(guarded: Api) -> None:
    """A silence of zen's is not shown to acme, nor ended by it, nor by who may only read."""
    made = {
        tenant: guarded.ask(
            "POST",
            "/api/v1/alerts/silences",
            "scribe",
            json={"matchers": [f"tenant={tenant}"], "comment": tenant},
        ).json()["silences"][0]["id"]
        for tenant in ("acme", "zen")
    }
    shown = guarded.get("/alerts", "acme").text

    assert made["acme"] in shown and made["zen"] not in shown
    path = "/api/v1/alerts/silences/"
    statuses = [
        guarded.ask("DELETE", f"{path}{made[tenant]}", token).status_code
        for tenant, token in (
            ("zen", "acme-scribe"),
            ("acme", "all"),
            ("acme", "acme-scribe"),
            ("zen", "scribe"),
        )
    ]
    assert [404, 403, 200, 200] == statuses


def test_counters_of_the_service_are_not_tenants(guarded: Api) -> None:
    """/status shows what the service counted to an unscoped caller, and to nobody else."""
    shown = {
        token: "counters" in guarded.get("/status", token).json() for token in ("", "acme", "all", "root")
    }

    assert {"": False, "acme": False, "all": True, "root": True} == shown


def test_marks_of_others_move_no_window(guarded: Api) -> None:
    """`why` divides the windows at a mark of the caller's or of everybody, and never says another's."""
    earlier = f"{datetime.now(UTC) - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
    said = {token: guarded.get(f"/why?at={earlier}", token).text for token in ("acme", "zen")}

    assert "acme-only" in said["acme"] and "zen-only" not in said["acme"]
    assert "zen-only" in said["zen"] and "acme-only" not in said["zen"]
