"""Live: map and sentence follow what is stored, and a connection that has gone stale is said to be."""

import re
from typing import Any

from playwright.sync_api import Page, expect
from tests.dashboards.page.page_site import Site, run


def test_live_renews_the_map_and_leaves_the_focus(page: Page, site: Site) -> None:
    """A mark that is stored meanwhile appears without being asked for; the focus stays where it was."""
    page.goto(site.link(last="1h"))
    page.get_by_label("live").check()
    expect(page.locator(".live")).to_have_attribute("data-state", "on")
    page.get_by_role("button", name="Table").click()
    page.get_by_label("where").focus()
    with page.expect_response(re.compile("/heatmap")):
        run("mark", "v3", "--kind", "config", "--url", site.url)

    expect(page.get_by_role("rowheader").filter(has_text="config v3")).to_have_count(1)
    assert "where" == page.evaluate("document.activeElement.id")
    assert "live=on" in page.url


def test_a_broken_connection_is_said(page: Page, site: Site, faults: list[str]) -> None:
    """When the stream cannot be had the switch says since when nothing was heard."""
    page.route("**/api/v1/live?*", lambda route: route.abort())
    page.goto(site.link(last="1h", live="on"))

    expect(page.locator(".live-state")).to_contain_text("nothing heard since")
    faults.clear()


def test_live_ends_with_a_fixed_range(page: Page, site: Site) -> None:
    """A range that does not end now is not live; switching live on takes the last hour."""
    page.goto(site.link(**site.range))
    expect(page.get_by_label("live")).not_to_be_checked()
    page.get_by_label("live").check()

    expect(page.locator("#range")).to_have_value("1h")


def test_a_new_incident_comes_to_the_top(page: Page, site: Site, why: dict[str, Any]) -> None:
    """A `report` event makes the page look for what is open."""
    page.goto(site.link(last="1h", live="on"))
    expect(page.locator(".banner")).to_contain_text(why["headline"])
    with page.expect_response(re.compile("/reports")):
        page.evaluate("dispatchEvent(new CustomEvent('report'))")
