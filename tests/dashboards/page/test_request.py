"""From a cell to its requests, and to one of them: waterfall, gaps, counters and peers."""

import re
import shlex
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from tests.dashboards.page.page_site import Site, run

from otel_attrib.analytics.wording import milliseconds


@pytest.fixture(scope="module")
def slowest(site: Site) -> dict[str, Any]:
    """The slowest request of the fleet, by the API."""
    body: dict[str, Any] = site.api("requests", **site.range, where="service=model-fleet", limit=1)["items"][
        0
    ]
    return body


def test_a_cell_leads_to_its_requests_and_one_of_them_to_its_waterfall(page: Page, site: Site) -> None:
    """By keys alone: cell, list (slowest first, all in the cell's band), request, and back."""
    page.goto(site.link(**site.range, where="service=model-fleet"))
    expect(page.locator(".summary")).to_contain_text("requests")
    page.keyboard.press("m")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    region = page.get_by_role("region", name="Requests", exact=True)
    expect(region.locator("tbody tr").first).to_be_visible()
    words = dict(part.split("=", 1) for part in page.url.split("?")[1].split("&") if "=" in part)
    shown = [float(text.replace(",", "")) for text in region.locator("tbody td.strong").all_inner_texts()]

    assert sorted(shown, reverse=True) == shown
    assert all(float(words["above_ms"]) * 0.99 <= ms <= float(words["below_ms"]) * 1.01 for ms in shown)
    link = region.locator("a").first
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("table.waterfall")).to_be_visible()
    page.go_back()
    expect(region.locator("tbody tr").first).to_be_visible()


def test_the_waterfall_is_the_requests(page: Page, site: Site, slowest: dict[str, Any]) -> None:
    """Stages with the API's milliseconds, each bar beginning where its offset lies, on one scale."""
    told = site.api(f"trace/{slowest['trace_id']}")
    page.goto(site.link(f"trace/{slowest['trace_id']}"))
    table = page.locator("table.waterfall")
    expect(table).to_be_visible()
    starts: dict[float, float] = {}
    for stage in told["stages"]:
        row = table.locator(f"tr:has(th:text-is('{stage['stage']}'))")
        assert milliseconds(stage["us"] / 1000) == row.locator("td").nth(1).inner_text()
        starts[stage["offset_us"]] = float((row.locator("rect").get_attribute("x") or "").rstrip("%"))
    first, last = min(starts), max(starts)
    scale = (starts[last] - starts[first]) / (last - first)

    assert scale > 0
    assert all(abs(starts[first] + scale * (at - first) - x) < 0.01 for at, x in starts.items())


def test_the_command_to_copy_keeps_an_odd_id_in_one_word(
    page: Page, site: Site, slowest: dict[str, Any]
) -> None:
    """An id that a client made up is one word of the command, whatever a shell would make of it."""
    odd = "a b; $(touch c) 'd'"
    told = {
        "trace": site.api(f"trace/{slowest['trace_id']}", evidence="true"),
        "why": site.api("why", trace=slowest["trace_id"]),
    }
    page.route("**/api/v1/trace/**", lambda route: route.fulfill(json=told["trace"]))
    page.route("**/api/v1/why?trace=*", lambda route: route.fulfill(json=told["why"]))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(site.link(f"trace/{quote(odd, safe='')}"))
    page.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()

    command = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert ["otel-attrib", "trace", "--url", site.url, odd, "--evidence"] == command


def test_the_sentence_is_the_commands(page: Page, site: Site, slowest: dict[str, Any]) -> None:
    """The page and `otel-attrib trace` begin with the same words; so do its peers and `why --trace`."""
    page.goto(site.link(f"trace/{slowest['trace_id']}"))
    expect(page.locator("h2.sentence")).to_have_text(
        run("trace", slowest["trace_id"], "--url", site.url).splitlines()[0]
    )
    told = site.api("why", trace=slowest["trace_id"])
    expect(page.locator(".peers b")).to_have_text(told["headline"])


def test_gaps_and_counters_share_the_waterfalls_axis(page: Page, site: Site, slowest: dict[str, Any]) -> None:
    """Each gap is listed in its order, and every counter drawn stands beside its usual value."""
    told = site.api(f"trace/{slowest['trace_id']}", evidence="true")
    page.goto(site.link(f"trace/{slowest['trace_id']}"))
    strip = page.get_by_role("region", name="Gaps between tokens")
    expect(strip).to_be_visible()
    if told["gaps_ms"]:
        strip.locator("summary").click()
        assert [milliseconds(ms) for ms in told["gaps_ms"]] == strip.locator(".mono").inner_text().split()
    figures = page.get_by_role("region", name="Counters of its cards and host").locator("figure")
    expect(figures).to_have_count(6)
    expect(figures.filter(has_text="SM clock")).to_have_count(1)
    assert re.search(r"\(usual ", figures.filter(has_text="SM clock").inner_text())


def test_the_scale_can_be_the_first_tokens(page: Page, site: Site) -> None:
    """Of a request that wrote for long, the stages to the first token can fill the width."""
    items = site.api("requests", **site.range, where="service=model-fleet", limit=200)["items"]
    long = next(item for item in items if item["e2e_ms"] > 2 * item["ttft_ms"])
    page.goto(site.link(f"trace/{long['trace_id']}"))
    page.get_by_label("to first token").check()
    widths = page.locator("table.waterfall tr:not(.sum) rect").evaluate_all(
        "bars => bars.slice(0, 8).map(bar => parseFloat(bar.getAttribute('width')))"
    )

    assert 95 <= sum(widths) <= 102


def test_pages_of_requests_follow_each_other(page: Page, site: Site) -> None:
    """More adds the next page, without repeating one."""
    page.goto(site.link(**site.range, rows=site.window))
    page.get_by_role("button", name="More").click()
    region = page.get_by_role("region", name="Requests", exact=True)
    expect(region.locator("tbody tr")).to_have_count(50)
    links = region.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")

    assert 50 == len(set(links))
