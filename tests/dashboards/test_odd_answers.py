"""`dashboards apply` beside a Grafana that answers in another shape, or that somebody has set by hand."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.cli import main

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.fake_grafana import FakeGrafana, serving

CLICKHOUSE = "grafana-clickhouse-datasource"
OURS = {"tags": ["otel-attrib"], "panels": "x", "uid": "otel-attrib-fleet"}
ODD: list[Any] = [
    [],
    "x",
    None,
    {},
    5,
    {"dashboard": None},
    {"dashboard": {"tags": 5}},
    {"dashboard": OURS, "meta": None},
    {"dashboard": OURS, "meta": {"folderUid": "otel-attrib"}},
    {"jsonData": None},
    {"jsonData": {"managedBy": "otel-attrib"}, "type": CLICKHOUSE, "secureJsonFields": None},
]
WORDS = ["dashboards", "diff", "fleet", "--clickhouse", "http://store:8123"]


@pytest.fixture
def grafana(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGrafana]:
    """A FAKE Grafana, and a token for it."""
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_TOKEN", "glsa_admin")
    with serving(FakeGrafana()) as found:
        yield found


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("route", ["_settings", "_folder", "_board", "_source"])
def test_no_answer_is_a_traceback(
    route: str, odd: Any, grafana: FakeGrafana, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a server answers, it is told in a line, as a difference or as not ours; nothing is written."""
    answer: Callable[..., Any] = lambda *_: (200, odd)  # noqa: E731 # the fake's own form
    monkeypatch.setattr(grafana, route, answer)

    assert main([*WORDS, "--grafana-url", grafana.url]) in (1, 3)
    assert [] == grafana.writes


def test_what_was_set_by_hand_stays(grafana: FakeGrafana) -> None:
    """A new address of the store changes the address; a time limit and a TLS setting of the site stay."""
    where = ["--grafana-url", grafana.url]
    assert main(["dashboards", "apply", "fleet", "--clickhouse", "http://old:8123", *where]) == 0
    held = grafana.sources["otel-attrib-clickhouse"]
    held["basicAuth"], held["jsonData"]["queryTimeout"] = True, "60"
    assert main(["dashboards", "apply", "fleet", "--clickhouse", "http://new:8123", *where]) == 0

    now = grafana.sources["otel-attrib-clickhouse"]
    assert ("new", "60", True) == (now["jsonData"]["host"], now["jsonData"]["queryTimeout"], now["basicAuth"])
