"""Names that mean something to Grafana, to Go templates, to SQL or to us, in objectives of a site."""

import json
from datetime import timedelta

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives.objective import Limit, Objective
from otel_attrib.dashboards.alerts.clickhouse import burn_sql
from otel_attrib.dashboards.alerts.template import as_said
from otel_attrib.dashboards.boards import texts
from otel_attrib.dashboards.target import literal
from otel_attrib.schema.store import open_store

NAMES = [
    "it's",
    'say "it"',
    "back\\slash",
    "$service",
    "${service}",
    "[[service]]",
    "$__timeFilter(time)",
    "{{ $labels.x }}",
    "{trace:String}",
    "a << b",
    "<<requests_filter>>",
    "two\nlines",
    "ünï 日本",
]


def given(name: str) -> Objective:
    """An objective with the name as its title and as its tenant."""
    where = parse_filter([f"tenant={name}"])
    return Objective("odd", name, where, (Limit("ttft", 100.0),), window=timedelta(hours=1))


@pytest.mark.parametrize("name", NAMES)
def test_a_literal_is_its_text(name: str) -> None:
    """ClickHouse reads the text back, and nothing in it looks like a variable, a macro or a word of ours."""
    with open_store("chdb://memory/odd") as store:
        ((row),) = store.rows(f"SELECT {literal(name)} AS said")

    assert {"said": name} == row
    assert not set("$[<{\n") & set(literal(name))


@pytest.mark.parametrize("name", NAMES)
def test_an_objective_may_be_called_anything(name: str) -> None:
    """The dashboard and Grafana's alert rule hold title and tenant as literals, once each."""
    board = json.loads(texts(given=(given(name),))["slo"])
    (statement,) = [
        panel["targets"][0]["rawSql"] for panel in board["panels"] if panel["title"] == "Objectives"
    ]

    assert 2 == statement.count(literal(name))
    assert literal(name) in burn_sql(given(name), given(name).pairs())


def test_a_title_is_no_template() -> None:
    """An opening brace pair of a title becomes a template that prints it; other text stays as it is."""
    assert 'a {{ "{{" }} $labels.x }} b' == as_said("a {{ $labels.x }} b")
    assert "50 % {of} it" == as_said("50 % {of} it")
