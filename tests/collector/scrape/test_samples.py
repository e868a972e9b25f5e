"""The reader of pages against prometheus_client's parsers."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from otel_attrib.collector.sources.scrape.samples import labels, samples

from .conftest import PAGES, page

Found = Sequence[tuple[str, dict[str, str], float, Any]]


class Everything:
    """A set that has every name."""

    def __contains__(self, name: object) -> bool:
        """Whatever it is."""
        return bool(name) and not str(name).startswith("#")


def ours(text: str, stamp_ms: float = 1.0) -> Found:
    """All samples of a page as we read them; timestamps in seconds."""
    return [
        (each.name, labels(each.head), each.value, each.stamp and each.stamp / 1000)
        for each in samples(text, Everything(), stamp_ms)
    ]


def same(one: Found, other: Found) -> bool:
    """Whether both hold the same samples, NaN equal to NaN."""

    def rows(found: Found) -> list[str]:
        return sorted(repr((name, sorted(named.items()), *numbers)) for name, named, *numbers in found)

    return rows(one) == rows(other)


def theirs(text: str) -> Found:
    """All samples as prometheus_client reads them, their names as on the page: it gives counters a suffix."""
    there = {re.match(r"[^{ ]*", line)[0] for line in text.splitlines()}  # type: ignore[index] # matches all
    return [
        (
            each.name if each.name in there else each.name.removesuffix("_total"),
            each.labels,
            float(each.value),
            each.timestamp and float(each.timestamp),
        )
        for family in text_string_to_metric_families(text)
        for each in family.samples
    ]


@pytest.mark.parametrize("name", sorted(path.stem for path in PAGES.glob("*.txt")))
def test_every_page_reads_as_prometheus_client_reads_it(name: str) -> None:
    """Names, labels, values and timestamps of every sample are the same."""
    found = ours(page(name))

    assert found
    assert same(theirs(page(name)), found)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r")), min_size=1, max_size=5))
def test_any_label_value_survives(values: list[str]) -> None:
    """Whatever stands in a label, as prometheus_client writes it, comes back."""
    registry = CollectorRegistry()
    gauge = Gauge("some_gauge", "help", ["one", "index"], registry=registry)
    for index, value in enumerate(values):
        gauge.labels(value, str(index)).set(index)

    found = ours(generate_latest(registry).decode())

    expected = [("some_gauge", {"one": v, "index": str(i)}, float(i), None) for i, v in enumerate(values)]
    assert same(expected, found)


def test_openmetrics_reads_too() -> None:
    """Exemplars, timestamps in seconds and the end mark, against prometheus_client's OpenMetrics parser."""
    text = (
        "# TYPE requests counter\n"
        'requests_total{a="x} y # z"} 17.0 1520879607.789 # {trace_id="a"} 0.67 1520879606.5\n'
        "# TYPE level gauge\nlevel 3 1520879607.5\nlevel_other 1\n# EOF\n"
    )
    expected = [
        (each.name, each.labels, float(each.value), each.timestamp and float(each.timestamp))
        for family in openmetrics.text_string_to_metric_families(text)  # type: ignore[no-untyped-call] # it has no types
        for each in family.samples
    ]

    assert same(expected, ours(text, 1000.0))


def test_what_is_no_sample_is_left_out() -> None:
    """Cut lines, words for numbers and loose braces cost only themselves."""
    text = 'a{x="1"} 5\na{x="1} 6\na{x="2"}\na{x="3"} word\na 7 8 9\n{a} 1\na{x="4"} 8'

    assert [("a", {"x": "1"}, 5.0, None), ("a", {"x": "4"}, 8.0, None)] == ours(text)
