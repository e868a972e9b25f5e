"""Names that mean something to Grafana, to Go templates, to SQL or to us, in objectives of a site."""

import json
import re
from datetime import timedelta

import pytest
import yaml

from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives.objective import Limit, Objective
from otel_attrib.dashboards.alerts.clickhouse import burn_sql
from otel_attrib.dashboards.alerts.grafana import grafana_rules
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

OTHERS = re.compile(r"\$(?!values\.B|labels\.(service|model|metric|incident))")


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


@pytest.mark.parametrize("name", NAMES)
def test_a_title_is_no_template(name: str) -> None:
    """What could begin an action or a variable stands in one string of Go's, which reads as the text."""
    said = as_said(name)

    assert "$" not in said
    if said != name:
        assert ("{{ ", " }}") == (said[:3], said[-3:])
        assert name == json.loads(said[3:-3])  # strings of Go and of JSON have these escapes in common
    else:
        assert "{{" not in name


def test_rules_of_grafana_hold_no_variable() -> None:
    """The only dollar signs of an exported rule's labels and annotations are those of its own templates."""
    text = grafana_rules([given("${HOME} {{ $labels.x }}")], Links("", "")).text
    for group in yaml.safe_load(text)["groups"]:
        for rule in group["rules"]:
            words = [*rule["labels"].values(), *rule["annotations"].values()]
            assert not [word for word in words if OTHERS.search(word)]
