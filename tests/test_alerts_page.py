"""docs/alerts.md and the runbooks are held to the code: nothing undocumented, nothing that is not there."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from otel_attrib.analytics.alerting.alert import NEW, Alert, Change
from otel_attrib.analytics.alerting.gauges import Gauges
from otel_attrib.analytics.alerting.kinds import KINDS
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.webhook import SCHEMA, body_of
from otel_attrib.analytics.exposition import HISTOGRAMS
from otel_attrib.analytics.exposition.latencies import LABELS, OPTIONAL
from otel_attrib.analytics.windows import parse_time
from otel_attrib.config import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/alerts.md").read_text()
RUNBOOKS = ROOT / "docs/runbooks"


def section(title: str) -> str:
    """The text under a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found, title
    return found[1]


def named(text: str) -> set[str]:
    """Every word between back quotes in the first column of a table."""
    rows = re.findall(r"^\| (.*?) \|", text, re.M)
    return {word for row in rows for word in re.findall(r"`([\w.\[\]:]+)`", row)}


def test_every_alert_and_no_other() -> None:
    """The table has each alert with its severity, meaning and who raises it."""
    rows = re.findall(r"^\| \[`(\w+)`\]\(runbooks/\1\.md\) \| (\w+) \| (.*?) \| (.*?) \|$", PAGE, re.M)

    expected = [(k.name, k.severity, k.meaning, ", ".join(k.by)) for k in KINDS.values()]
    assert expected == rows


def test_a_runbook_for_every_alert() -> None:
    """Each alert has a runbook, and each runbook an alert."""
    assert set(KINDS) == {path.stem for path in RUNBOOKS.glob("*.md")}


@pytest.mark.parametrize("name", KINDS)
def test_runbooks_have_the_same_parts(name: str) -> None:
    """A runbook says what it means, where to look first, likely layers, what to do, when it is wrong."""
    text = (RUNBOOKS / f"{name}.md").read_text()

    assert text.startswith(f"# {name}\n")
    assert ["First look", "Likely layers", "What to do", "When it is wrong"] == re.findall(
        r"^## (.*)$", text, re.M
    )


def test_every_setting() -> None:
    """Each setting of alerts is in the table, and each word of the table is a setting."""
    known = {entry.name for entry in fields(Settings)}
    ours = {n for n in known if n.startswith(("alert", "webhook", "metrics_"))}

    assert ours | {"slo"} == named(section("Settings"))


def test_every_annotation() -> None:
    """Each annotation that the code writes is in the table."""
    code = "".join((ROOT / "analytics/alerting" / name).read_text() for name in ("found.py", "making.py"))
    written = set(
        "summary verdict layers evidence_for evidence_against who would_decide exemplars burn related"
        " description report_url trace_url objective_url dashboard_url runbook_url".split()
    )

    assert written == named(section("Annotations"))
    assert set() == {name for name in written if f'"{name}"' not in code}


def test_every_field_of_the_body() -> None:
    """Each field of a webhook's body is in the table, and the schema is the code's."""
    labels = {"alertname": "LatencyRegression", "service": "s"}
    alert = Alert("i", labels, {}, parse_time("2026-05-01T12:00:00Z"))
    body = body_of([Change(NEW, alert)], 0.0)
    text = section("Webhooks")
    words = {word.split(".")[-1].removeprefix("alerts[]") for word in named(text)}

    assert f"`{SCHEMA}`" in text
    assert set() == set(body) - words
    assert set() == set(body["alerts"][0]) - words


def test_every_series() -> None:
    """Each series that alerting shows on /metrics is in the table, and no other of ours."""
    shown = {histogram.name for histogram in HISTOGRAMS.values()} | {
        "otel_attrib_requests_total",
        "otel_attrib_store_up",
    }
    families = [*Meters().registry.collect(), *Gauges(list, list).collect()]
    shown |= {f"{one.name}_total" if one.type == "counter" else one.name for one in families}

    tables = section("Prometheus").split("| on `/metrics` |")[1]
    assert shown == named(tables)


def test_every_label_of_the_histograms() -> None:
    """The labels that histograms have are named."""
    text = section("Prometheus")

    assert all(f"`{label}`" in text for label in (*LABELS, *(label for label, _ in OPTIONAL.values())))
