"""The answer on the page: every number of the report, adding up, and evidence on both sides."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.dashboards.page.page_site import Site

from otel_attrib.analytics.wording import layer_title, milliseconds, probability, reach, signed


@pytest.fixture
def answered(known: Page, site: Site) -> Page:
    """The site's question, answered."""
    known.goto(site.link("why", **site.range, **site.question))
    expect(known.locator("h2.sentence")).to_be_visible()
    return known


def test_the_cause_is_named(why: dict[str, Any]) -> None:
    """The store holds a fault that the product names, so that the tests below are about a cause."""
    largest = max(why["layers"], key=lambda name: float(why["layers"][name]["ms"]))

    assert ("CAUSE", "gpu") == (why["verdict"], largest)


def test_layers_are_the_reports(answered: Page, why: dict[str, Any]) -> None:
    """Each layer worth a line stands with its ms, its probability and its interval."""
    change = milliseconds(why["delta_ms"], sign=True)
    table = answered.get_by_role("table", name=f"Where the {change} ms came from")
    least = 0.005 * why["delta_ms"]
    worth = {name: layer for name, layer in why["layers"].items() if abs(layer["ms"]) >= least}
    for name, layer in worth.items():
        cells = table.get_by_role("row", name=layer_title(name)).first.locator("td").all_inner_texts()
        assert signed(layer["ms"]) == cells[0]
        assert [probability(layer["p"]), reach(*layer["ci_ms"])] == cells[3:]


def test_lines_add_up_to_the_sum(answered: Page, why: dict[str, Any]) -> None:
    """Layers, workload, load and unexplained, as shown, make the sum that is shown, to rounding."""
    rows = answered.locator("table.bars").first.locator("tbody tr:not(.inner)")
    shown = [float(row.split("\t")[1].replace(",", "")) for row in rows.all_inner_texts()]

    assert abs(sum(shown[:-1]) - shown[-1]) <= 0.5 * len(shown)
    assert milliseconds(why["delta_ms"], sign=True) == rows.last.inner_text().split("\t")[1]


def test_bars_and_whiskers_are_to_scale(answered: Page, why: dict[str, Any]) -> None:
    """The length of the GPU's bar to that of the sum is as their milliseconds are."""
    table = answered.locator("table.bars").first
    gpu, total = (_width(table, name) for name in ("GPU", "sum"))

    assert abs(gpu / total - why["layers"]["gpu"]["ms"] / why["delta_ms"]) < 0.01


def _width(table: Locator, name: str) -> float:
    bar = table.locator(f"tr:has(th:text-is('{name}')) rect").first
    return float((bar.get_attribute("width") or "").rstrip("%"))


def test_evidence_stands_on_its_side(answered: Page, why: dict[str, Any]) -> None:
    """What speaks for the named layer is listed as such; what speaks against it, or for another, opposite."""
    speaking = [item["text"] for item in why["evidence"] if item["for"] and item["layer"] == "gpu"]
    other = [item["text"] for item in why["evidence"] if item["for"] and item["layer"] != "gpu"]
    shown = {name: answered.locator(f"section.{name}").all_inner_texts() for name in ("for", "against")}

    assert speaking
    assert all(text in shown["for"][0] for text in speaking)
    assert all(text in " ".join(shown["against"]) for text in other)
    assert not any(text in shown["for"][0] for text in other)


def test_who_was_hit_and_whom_to_look_at(answered: Page, why: dict[str, Any]) -> None:
    """The slice and links to every exemplar."""
    assert why["slice"] is not None
    expect(answered.locator(".reasons")).to_contain_text(f"{why['slice']['requests']:,} requests")
    links = answered.locator(".links a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert [f"#/trace/{one}?metric=ttft" for one in why["exemplars"]] == links


def test_an_abstention_is_an_answer(page: Page, site: Site) -> None:
    """Of a few seconds the service says that it cannot say; the page shows that calmly, with what would."""
    start = site.window.split("..")[0]
    end = f"{start[:-3]}{min(59, int(start[-3:-1]) + 8):02d}Z"
    page.goto(site.link("why", **site.range, window=f"{start}..{end}"))
    expect(page.locator("article.answer h2.sentence")).to_be_visible(timeout=60_000)

    expect(page.locator(".verdict b")).to_have_text("INSUFFICIENT")
    expect(page.get_by_role("heading", name="What would decide it")).to_be_visible()
    assert 0 == page.get_by_role("alert").count()


def test_a_question_can_be_called_off(page: Page, site: Site) -> None:
    """Cancel ends the waiting and offers to ask again."""
    page.route("**/api/v1/why?*", lambda route: None)
    page.goto(site.link("why", **site.range, **site.question))
    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_text("The question was called off.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
