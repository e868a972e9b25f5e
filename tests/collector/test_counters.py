"""The counters: all documented, named by Prometheus' rules, and adding up."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.counters import Counters
from otel_attrib.collector.counters_page import page

REFERENCE = Path(__file__).parents[2] / "docs/reference/counters.md"


def test_reference_is_current() -> None:
    """The page is the one made from the code."""
    assert page() == REFERENCE.read_text()


def test_text_can_be_parsed() -> None:
    """What `/metrics` says is Prometheus' format, with our prefix on every name and units as it asks."""
    counters = Counters()
    counters.written.labels("traces").inc(3)
    families = {family.name: family for family in text_string_to_metric_families(counters.text().decode())}
    samples = families["otel_attrib_written_items"].samples

    assert [3.0] == [s.value for s in samples if s.name == "otel_attrib_written_items_total"]
    assert all(re.fullmatch(r"otel_attrib_[a-z]+(_[a-z]+)*", name) for name in families)
    assert all(family.documentation for family in families.values())


def test_totals() -> None:
    """Only what is not 0, by name and labels, without the prefix."""
    counters = Counters()
    counters.refused.labels("traces", "busy").inc()
    counters.spool_bytes.set(5)

    assert {
        'refused_requests_total{reason="busy",signal="traces"}': 1.0,
        "spool_bytes": 5.0,
    } == counters.totals()


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_every_request_is_accounted_for(service: Any, signal: str) -> None:
    """Received = accepted + duplicate + refused, whatever was sent."""
    make: Any = {"traces": bodies.traces, "metrics": bodies.metrics, "logs": bodies.logs}[signal]
    good = make(2).SerializeToString()
    for body, kind in [
        (good, "application/x-protobuf"),
        (good, "application/x-protobuf"),
        (b"", "application/x-protobuf"),
        (b"{", "application/json"),
        (good[:-1], "application/x-protobuf"),
        (good, "text/plain"),
    ]:
        httpx.post(f"{service.url}/v1/{signal}", content=body, headers={"Content-Type": kind})

    assert 6.0 == service.total("received_requests_total", signal=signal, transport="http")
    assert (2.0, 1.0, 2.0, 1.0) == (
        service.total("accepted_requests_total", signal=signal),
        service.total("duplicate_requests_total", signal=signal),
        service.total("refused_requests_total", signal=signal, reason="malformed"),
        service.total("refused_requests_total", signal=signal, reason="media_type"),
    )
    assert 2.0 == service.total("accepted_items_total", signal=signal)
