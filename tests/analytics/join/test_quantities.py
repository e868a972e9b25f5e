"""Titles of counters in a table: the noun, without what splits or explains it."""

import re

import pytest

from otel_attrib.analytics.join.quantities import title
from otel_attrib.schema.context_counters import EVERY_COUNTER, registered


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("page_faults", "page faults"),
        ("process_cpu", "CPU time"),
        ("network_bytes", "bytes"),
        ("gpu_throttle_time", "time throttled"),
        ("cpu_pressure", "some task waited for a CPU"),
    ],
)
def test_titles(key: str, expected: str) -> None:
    """What splits a counter and what stands in brackets is left to the reference page."""
    assert expected == title(registered(key))


def test_every_title_says_something() -> None:
    """No counter's title is empty or a name of an attribute."""
    wrong = [
        counter.key
        for counter in EVERY_COUNTER
        if not re.match(r"[\w]", title(counter)) or "`" in title(counter)
    ]

    assert [] == wrong
