"""Incidents and objectives: the sentence at the top, the report as it was kept, the budget as counted."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dashboards.page.page_site import Site

INCIDENT = "5eed5eed5eed5eed"


def test_an_open_incident_is_said_on_every_view(page: Page, site: Site, why: dict[str, Any]) -> None:
    """The banner holds the report's own sentence, and leads to it."""
    page.goto(site.link("slo"))
    banner = page.locator(".banner")
    expect(banner).to_contain_text(why["headline"])
    banner.get_by_role("link").click()

    expect(page).to_have_url(site.link(f"reports/{INCIDENT}"))
    expect(page.locator("h2.sentence")).to_have_text(why["headline"])


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("NO_REGRESSION", "gold burns its budget"),
        ("CAUSE", "gold burns its budget; P99 TTFT rose"),
        ("", "gold burns its budget"),
    ],
)
def test_a_burn_is_said_as_one(page: Page, site: Site, verdict: str, said: str) -> None:
    """A budget that burns is said whatever `why` says of the tail; "no regression" is no open incident."""
    item = site.api("reports")["items"][0]
    burn = {**item, "incident": "b", "where": {"slo": "gold"}, "verdict": verdict, "hash": verdict}
    kept = site.api(f"reports/{INCIDENT}")["items"][0]["report"]
    body = {**burn, "report": {**kept, "verdict": verdict}} if verdict else burn
    # A fake answer: the demo's fleet burns no budget for long enough.
    told = {True: {"items": [burn], "next": None}, False: {"items": [body], "next": None}}
    page.route("**/api/v1/reports**", lambda route: route.fulfill(json=told["?" in route.request.url]))

    page.goto(site.link("slo"))

    sentence = page.locator(".banner b")
    expect(sentence).to_contain_text(said)
    if verdict != "CAUSE":
        expect(sentence).to_have_text(said)


def test_a_report_leads_back_to_the_map(known: Page, site: Site, why: dict[str, Any]) -> None:
    """From the report the same windows are shown on the map, with the same answer."""
    known.goto(site.link(f"reports/{INCIDENT}"))
    known.get_by_role("link", name="Show it on the map").click()

    expect(known.locator(".band.window")).to_be_visible()
    expect(known.locator("h2.sentence")).to_have_text(why["headline"])


def test_incidents_are_listed(page: Page, site: Site, why: dict[str, Any]) -> None:
    """One line an incident: state, verdict and change."""
    page.goto(site.link("reports"))
    row = page.get_by_role("row").filter(has_text="model-fleet")

    expect(row).to_contain_text("open")
    expect(row).to_contain_text(f"{why['verdict']}: GPU")


def test_objectives_are_the_services(page: Page, site: Site) -> None:
    """Attained, budget and burn of each objective are the API's, joint ones called joint."""
    told = {item["name"]: item for item in site.api("slo")["items"]}
    page.goto(site.link("slo"))
    for item in told.values():
        row = page.get_by_role("row").filter(has_text=item["title"]).first
        expect(row).to_contain_text("100 %" if item["attained"] == 1 else f"{100 * item['attained']:.2f} %")
    smooth = page.get_by_role("row").filter(has_text="Fleet, first token and each after it")
    expect(smooth).to_contain_text("joint" if told["fleet-smooth"]["joint"] else "worst of each")
    expect(smooth).to_contain_text("overspent")


def test_one_objective_has_its_history(page: Page, site: Site) -> None:
    """Its history, as a table, adds up to what it counted."""
    told = site.api("slo/fleet-smooth", history="true")
    page.goto(site.link("slo/fleet-smooth"))
    page.get_by_text("The same as a table").click()
    cells = page.get_by_role("region", name="History").locator("tbody tr").all_inner_texts()
    totals = [int(row.split("\t")[2].replace(",", "")) for row in cells]

    assert sum(point["total"] for point in told["history"]) == sum(totals)
    expect(page.locator("main")).to_contain_text(f"{told['good']:,} of {told['total']:,} requests were good")
