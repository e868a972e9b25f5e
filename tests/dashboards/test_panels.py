"""Every statement of every dashboard runs on a site's store and gives the columns that its panel draws.

Macros are expanded by `macros.py`, a second implementation from the plugin's documentation.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.dashboards.boards import NAMES, texts
from otel_attrib.dashboards.config import DATASOURCE_TYPE, TAG, VARIABLES
from otel_attrib.dashboards.links import REQUEST_UID
from otel_attrib.schema.store import Store

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.macros import View

BOARDS: dict[str, dict[str, Any]] = {name: json.loads(text) for name, text in texts().items()}


def panels(name: str) -> list[dict[str, Any]]:
    """The panels of a dashboard, rows left out."""
    return [panel for panel in BOARDS[name]["panels"] if panel["type"] != "row"]


def statements() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Dashboard, panel and target of every statement for ClickHouse."""
    for name in NAMES:
        for panel in panels(name):
            for target in panel["targets"]:
                if "rawSql" in target:
                    yield name, panel["title"], target


@pytest.mark.parametrize(
    ("name", "title", "target"),
    list(statements()),
    ids=[f"{name}-{title}-{target['refId']}" for name, title, target in statements()],
)
def test_every_statement_gives_what_is_drawn(
    name: str, title: str, target: dict[str, Any], site: Store, view: View
) -> None:
    """At least one row; a time series has its time first, a name at most beside it, and numbers or gaps."""
    rows = site.rows(view.expanded(target["rawSql"]))

    assert rows
    if target["queryType"] == "timeseries":
        assert "time" == next(iter(rows[0]))
        assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
        for row in rows:
            values = [value for column, value in row.items() if column not in ("time", "name")]
            assert isinstance(row["time"], datetime) and isinstance(row.get("name", ""), str) and values
            assert all(value is None or isinstance(value, int | float) for value in values)
            assert not any(value != value for value in values), "NaN is no measurement"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "prometheus"])
def test_variables_and_annotations_run(name: str, site: Store, view: View) -> None:
    """Each variable offers values, and both annotations have what they show: a time, a title, a text."""
    board = BOARDS[name]
    queries = {one["name"]: one["query"] for one in board["templating"]["list"] if one["type"] == "query"}

    assert set(VARIABLES) == set(queries)
    assert all(site.rows(view.expanded(query)) for query in queries.values())
    shown = [site.rows(view.expanded(one["target"]["rawSql"])) for one in board["annotations"]["list"]]
    assert ["deploy: v2", "ttft of model-fleet: attributed"] == [rows[0]["title"] for rows in shown]
    assert all({"time", "title", "tags", "text"} == set(rows[0]) for rows in shown)


@pytest.mark.parametrize("name", NAMES)
def test_shared_variables_are_the_same_everywhere(name: str) -> None:
    """A link hands over values, so a variable of one name is one thing on every dashboard."""
    fleet = {one["name"]: one for one in BOARDS["fleet"]["templating"]["list"]}
    for one in BOARDS[name]["templating"]["list"]:
        if one["name"] in fleet and name != "prometheus":
            assert fleet[one["name"]] == one


@pytest.mark.parametrize("name", NAMES)
def test_statements_name_declared_variables_only(name: str) -> None:
    """Whatever a panel or a link puts in is a variable of its dashboard, or Grafana's own."""
    board = BOARDS[name]
    declared = {one["name"] for one in board["templating"]["list"]}
    text = json.dumps(board["panels"])
    named = set(re.findall(r"\$\{?([a-z][a-z_]*)\b", text))

    assert set() == named - declared


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_says_definition_unit_and_bound(name: str) -> None:
    """A description is three paragraphs; titles and ids are unique in a dashboard."""
    found = panels(name)

    for panel in found:
        definition, unit, bound = panel["description"].split("\n\n")
        assert definition and unit.startswith("Unit: ") and bound.startswith("Bound: ")
    titles = [panel["title"] for panel in BOARDS[name]["panels"]]
    assert len(titles) == len(set(titles))
    ids = [panel["id"] for panel in BOARDS[name]["panels"]]
    assert list(range(1, len(ids) + 1)) == ids


@pytest.mark.parametrize("name", NAMES)
def test_panels_fill_the_grid_without_overlap(name: str) -> None:
    """No two panels share a cell of Grafana's grid of 24 columns, and none reaches beyond it."""
    cells: set[tuple[int, int]] = set()
    for panel in BOARDS[name]["panels"]:
        at = panel["gridPos"]
        x, y = at.get("x", 0), at.get("y", 0)
        mine = {(i, j) for i in range(x, x + at["w"]) for j in range(y, y + at["h"])}
        assert x + at["w"] <= 24
        assert not cells & mine, panel["title"]
        cells |= mine


@pytest.mark.parametrize("name", NAMES)
def test_dashboards_are_tied_together(name: str) -> None:
    """Each has our tag and uid, a list of its sisters that keeps variables and time, a link to the page."""
    board = BOARDS[name]
    sisters, page = board["links"]

    assert (f"otel-attrib-{name}", True) == (board["uid"], TAG in board["tags"])
    assert ([TAG], True, True) == (sisters["tags"], sisters["includeVars"], sisters["keepTime"])
    assert "${page}/#/" == page["url"]


def test_a_dot_leads_to_its_request_and_to_the_evidence(site: Store, view: View) -> None:
    """The links of the P99 dots name the request's dashboard and the page by columns that the dots have."""
    panel = next(one for one in panels("fleet") if one["title"] == "TTFT: P50, P95, P99")
    (override,) = [
        one
        for one in panel["fieldConfig"]["overrides"]
        if one["matcher"]["options"] == "at_p99" and len(one["properties"]) > 1
    ]
    (links,) = [one["value"] for one in override["properties"] if one["id"] == "links"]
    rows = site.rows(view.expanded(panel["targets"][1]["rawSql"]))
    columns = {column for link in links for column in re.findall(r"__data\.fields\.(\w+)", link["url"])}

    assert f"/d/{REQUEST_UID}?var-trace=" in links[0]["url"]
    assert links[1]["url"].startswith("${page}/#/trace/")
    assert {"trace_id", "from_ms", "to_ms"} == columns <= set(rows[0])
    assert REQUEST_UID == BOARDS["request"]["uid"]


def test_the_choice_of_a_tenant_reaches_every_statement(site: Store, view: View) -> None:
    """With one tenant chosen a table of tenants has that one row; a quote in a value is a character."""
    (target,) = next(one for one in panels("tenants") if one["title"] == "Tenants")["targets"]
    chosen = {**view.chosen, "tenant": ["batch", "o'brien"]}
    rows = site.rows(View(view.begin, view.end, 10, chosen).expanded(target["rawSql"]))

    assert ["batch"] == [row["tenant"] for row in rows]


def test_only_our_two_data_sources_are_asked() -> None:
    """Every target names a data source by the viewer's variable, ClickHouse's or Prometheus'."""
    asked = {
        (target["datasource"]["type"], target["datasource"]["uid"])
        for name in NAMES
        for panel in panels(name)
        for target in panel["targets"]
        if "datasource" in target
    }

    assert asked <= {(DATASOURCE_TYPE, "${datasource}"), ("prometheus", "${prometheus}")}
