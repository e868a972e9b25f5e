"""For everybody: contrast, names, keys, focus, narrow screens, both themes, no unwanted motion."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dashboards.page.page_site import Site

VIEWS = ("", "why", "trace", "slo", "slo/fleet-smooth", "reports", "reports/5eed5eed5eed5eed")

HERE = Path(__file__).parent
CONTRAST = (HERE / "contrast.js").read_text()
NAMES = (HERE / "names.js").read_text()


@pytest.fixture(params=VIEWS, ids=[name or "map" for name in VIEWS])
def view(request: pytest.FixtureRequest, known: Page, site: Site, why: dict[str, Any]) -> Page:
    """Each view, with what it shows loaded."""
    name = str(request.param)
    if name == "trace":
        known.goto(site.link(f"trace/{why['exemplars'][0]}"))
        expect(known.locator(".peers b")).to_be_visible()
        expect(known.locator("figure").first).to_be_visible()
    elif name == "why":
        known.goto(site.link("why", **site.range, **site.question, rows=site.window))
        expect(known.locator("h2.sentence")).to_be_visible()
        expect(known.get_by_role("region", name="Requests", exact=True).locator("a").first).to_be_visible()
    else:
        known.goto(site.link(name, **(site.range if not name else {})))
        expect(known.locator("main .card").first).to_contain_text(re.compile("UTC|state"))
    expect(known.locator(".banner")).to_be_visible()
    return known


def test_every_view(view: Page) -> None:
    """Light and dark, every text has 4.5 : 1 (large 3 : 1), every control a name, and all fits 375 px.

    Wide tables scroll by themselves.
    """
    assert [] == view.evaluate(NAMES)
    for theme in ("light", "dark"):
        view.get_by_label("theme").select_option(theme)
        assert theme == view.locator("html").get_attribute("data-theme")
        assert [] == view.evaluate(CONTRAST)
    view.set_viewport_size({"width": 375, "height": 800})
    expect(view.locator("html")).to_have_js_property("scrollWidth", 375)


def test_everything_is_reached_by_tab_with_a_visible_focus(known: Page, site: Site) -> None:
    """Tab goes through every control of map and answer, each with an outline."""
    known.goto(site.link("why", **site.range, **site.question))
    expect(known.locator("h2.sentence")).to_be_visible()
    wanted = known.locator(
        "a[href]:visible, button:visible, select:visible, input:not([type=radio]):visible,"
        " [tabindex='0']:visible"
    ).count()
    seen: list[str] = []
    for _ in range(wanted + 20):
        known.keyboard.press("Tab")
        told = known.evaluate(
            """() => {
              const at = document.activeElement;
              const style = getComputedStyle(at.type === 'radio' ? at.nextElementSibling : at);
              const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
              return [at.outerHTML.slice(0, 120), outlined, at === document.body];
            }"""
        )
        if told[2] or told[0] in seen[:1]:
            break
        assert told[1], f"no visible focus: {told[0]}"
        seen.append(told[0])

    assert len(seen) >= wanted - 2
    assert any('class="pick"' in each for each in seen)


def test_the_keys_are_listed(page: Page, site: Site) -> None:
    """? opens the list, Escape closes it and the focus is back where it was."""
    page.goto(site.link(last="1h"))
    page.keyboard.press("m")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "pick" == page.evaluate("document.activeElement.className")


def test_g_goes_places(page: Page, site: Site) -> None:
    """g i, g o and g l lead to incidents, objectives and the map."""
    page.goto(site.link(last="1h"))
    for keys, heading in (("gi", "Incidents"), ("go", "Objectives")):
        for key in keys:
            page.keyboard.press(key)
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("l")

    expect(page.locator(".pick")).to_be_visible()


def test_the_theme_follows_the_system_and_the_switch(page: Page, site: Site) -> None:
    """Dark where the system is dark, unless the switch says otherwise; the switch is remembered."""
    page.emulate_media(color_scheme="dark")
    page.goto(site.link("slo"))
    html = page.locator("html")
    expect(html).to_have_attribute("data-theme", "dark")
    page.get_by_label("theme").select_option("light")
    expect(html).to_have_attribute("data-theme", "light")
    page.reload()
    expect(html).to_have_attribute("data-theme", "light")


def test_nothing_moves_where_no_motion_is_wanted(page: Page, site: Site) -> None:
    """With prefers-reduced-motion no rule animates."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(site.link(last="1h"))

    assert [] == page.evaluate("document.getAnimations().map(each => each.animationName)")


def test_layers_differ_without_colour(known: Page, site: Site) -> None:
    """Every layer's fill has a pattern of its own."""
    known.goto(site.link())
    weaves = known.evaluate(
        "[...document.querySelectorAll('pattern[id^=fill-layer]')].map(each => [...each.children].slice(1)"
        ".map(part => part.outerHTML).join(''))"
    )

    assert 7 == len(weaves) == len(set(weaves))
