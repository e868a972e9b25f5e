"""The registry of counters: one meaning a name, and a page that says what the code does."""

from pathlib import Path

from otel_attrib.schema.attributes import LAYERS
from otel_attrib.schema.counters import COUNTERS, counter_named
from otel_attrib.schema.evidence_page import page

ROOT = Path(__file__).parents[2]


def test_a_counter_is_told_apart() -> None:
    """No two counters share a key, or a metric with the same attribute."""
    keys = [counter.key for counter in COUNTERS]
    places = [(counter.metric, counter.select) for counter in COUNTERS]

    assert sorted(set(keys)) == sorted(keys)
    assert len(set(places)) == len(places)


def test_layers_and_limits() -> None:
    """Every counter belongs to a layer, and a PCIe rate no link has is above its limit."""
    assert {counter.layer for counter in COUNTERS} <= set(LAYERS)
    assert counter_named("pcie_receive").most < 209_713e6


def test_the_page_is_current() -> None:
    """The reference page is the one made from the registry."""
    assert page() == (ROOT / "docs/reference/evidence.md").read_text(encoding="utf-8")
