"""What is missing or does not work is a calm sentence that says what to do.

Refusals, outages and empty stores are made here by answering in the service's place: these answers are fakes,
with the bodies that the real service gives.
"""

import json
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from tests.dashboards.page.page_site import Site

EMPTY_MAP = {
    "schema": "otel-attrib/heatmap/1",
    "metric": "ttft",
    "unit": "ms",
    "step_s": 60,
    "times": [],
    "edges_ms": [],
    "cells": [],
    "quantile": 0.99,
    "quantile_ms": [],
    "n": 0,
    "marks": [],
    "source": "states",
}


def problem(status: int, detail: str) -> dict[str, Any]:
    """Return a refusal as the service words it."""
    body = {"type": "about:blank", "title": "", "status": status, "detail": detail}
    return {"status": status, "content_type": "application/problem+json", "body": json.dumps(body)}


@pytest.mark.parametrize(
    ("status", "said", "advice"),
    [
        (403, "This is not yours to see.", "another token"),
        (404, "There is no such thing in the store.", "time to live"),
        (413, "This question is too large for the service's limits.", "shorter range"),
        (422, "The service does not understand this question.", "Metric fast is unknown."),
        (503, "The store is busy or away.", "try again"),
        (504, "This question is too large for the service's limits.", "shorter range"),
    ],
)
def test_refusals(page: Page, site: Site, faults: list[str], status: int, said: str, advice: str) -> None:
    """Each status has its sentence and its advice, and can be tried again."""
    answer = problem(status, "metric fast is unknown")
    page.route("**/api/v1/heatmap?*", lambda route: route.fulfill(**answer))
    page.goto(site.link(last="1h"))
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("alert")).to_contain_text(advice)
    page.unroute("**/api/v1/heatmap?*")
    page.get_by_role("button", name="Try again").click()

    expect(page.locator(".summary")).to_contain_text("requests")
    faults.clear()


def test_no_answer_at_all(page: Page, site: Site, faults: list[str]) -> None:
    """A service that is gone is said to be gone."""
    page.route("**/api/v1/heatmap?*", lambda route: route.abort())
    page.goto(site.link(last="1h"))

    expect(page.get_by_role("alert")).to_contain_text("The service does not answer.")
    faults.clear()


def test_a_token_is_asked_for_and_kept_in_the_tab_alone(
    page: Page, context: BrowserContext, site: Site, faults: list[str]
) -> None:
    """On 401 the page asks, sends the token as a bearer, and leaves it nowhere but in this tab's session."""

    def guarded(route: Route) -> None:
        known = route.request.headers.get("authorization") == "Bearer s3cret"
        route.continue_() if known else route.fulfill(**problem(401, "give a token"))

    page.route("**/api/v1/**", guarded)
    page.goto(site.link(last="1h"))
    page.get_by_label("Token", exact=True).fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="This token is not accepted")).to_be_visible()
    page.get_by_label("Token", exact=True).fill("s3cret")
    page.keyboard.press("Enter")
    expect(page.locator(".summary")).to_contain_text("requests")
    kept = page.evaluate(
        "[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie, location.href]"
    )

    assert ["s3cret" in kept[0], *("s3cret" in each for each in kept[1:])] == [True, False, False, False]
    assert [] == [each for each in context.cookies() if "s3cret" in each["value"]]
    faults.clear()


def test_nothing_is_stored(page: Page, site: Site) -> None:
    """An empty store says how to fill it."""
    page.route("**/api/v1/heatmap?*", lambda route: route.fulfill(json=EMPTY_MAP))
    page.route("**/api/v1/requests?*", lambda route: route.fulfill(json={"items": [], "next": None}))
    page.goto(site.link(last="1h"))

    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()
    expect(page.get_by_text("otel-attrib demo --replay")).to_be_visible()


def test_nothing_in_this_range(page: Page, site: Site) -> None:
    """A range before all requests offers the newest, and leads there."""
    page.goto(site.link(**{"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T01:00:00Z"}))
    page.get_by_role("link", name="Show the hour up to it").click()

    expect(page.locator(".summary")).to_contain_text("TTFT of")


def test_nothing_passes_the_filter(page: Page, site: Site) -> None:
    """A filter that leaves nothing is named as the reason."""
    page.goto(site.link(**site.range, where="tenant=nobody"))

    expect(page.get_by_text("No stored request passes these filters.")).to_be_visible()


def test_no_objective_and_no_incident(page: Page, site: Site) -> None:
    """Without a file of objectives, and without incidents, the page says what would make some."""
    for name in ("slo", "reports"):
        page.route(f"**/api/v1/{name}*", lambda route: route.fulfill(json={"items": [], "next": None}))
    page.goto(site.link("slo"))
    expect(page.get_by_text("No objective is set.")).to_be_visible()
    page.goto(site.link("reports"))

    expect(page.get_by_text("No incident is on record.")).to_be_visible()


def test_a_request_that_is_gone(page: Page, site: Site, faults: list[str]) -> None:
    """The real service's 404 for an unknown trace."""
    page.goto(site.link("trace/00000000000000000000000000000000"))

    expect(page.get_by_role("alert")).to_contain_text("There is no such thing in the store.")
    faults.clear()


def test_an_address_that_is_none(page: Page, site: Site) -> None:
    """A wrong link leads home."""
    page.goto(site.link("nowhere"))
    page.get_by_role("link", name="To the latency map").click()

    expect(page.locator(".summary")).to_contain_text("requests")


def test_a_slow_answer_is_waited_for_in_words(page: Page, site: Site) -> None:
    """While the map is being counted the page says so."""
    page.route("**/api/v1/heatmap?*", lambda route: None)
    page.goto(site.link(last="1h"))

    expect(page.get_by_role("status").filter(has_text="Counting requests…")).to_be_visible()


def test_names_are_text(page: Page, site: Site) -> None:
    """Whatever a store holds is shown as it is and never becomes part of the page."""
    bad = "<img src=x onerror=alert(1)>"
    item = site.api("requests", **site.range, limit=1)["items"][0]
    item |= {"model": bad, "tenant": bad, "node": bad}
    page.route("**/api/v1/requests?*", lambda route: route.fulfill(json={"items": [item], "next": None}))
    page.goto(site.link(**site.range, rows=site.window))
    expect(page.get_by_role("cell", name=bad)).to_have_count(3)

    assert 0 == page.locator("main img").count()
