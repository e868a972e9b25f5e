"""Counting items in bytes says what the parser says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.item_count import has_more_items
from otel_attrib.collector.signals import SIGNALS, TRACES, Signal

BODIES: dict[str, Any] = {"traces": bodies.traces, "metrics": bodies.metrics, "logs": bodies.logs}


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_items_are_counted(signal: Signal) -> None:
    """Exactly as many as there are pass, over several resources, whatever else is in them."""
    body = b"".join(BODIES[signal.name](count).SerializeToString() for count in (200, 1, 99))

    assert [True, False, False] == [has_more_items(signal, body, most) for most in (299, 300, 301)]


def test_empty_spans() -> None:
    """Two bytes a span are enough to be counted."""
    request: Any = TRACES.request()
    scope = request.resource_spans.add().scope_spans.add()
    for _ in range(1000):
        scope.spans.add()

    assert has_more_items(TRACES, request.SerializeToString(), 999)
    assert not has_more_items(TRACES, request.SerializeToString(), 1000)


def test_fields_that_nobody_knows() -> None:
    """Very many of them are too many as well."""
    assert has_more_items(TRACES, b"\x78\x01" * 1000, 100)
    assert not has_more_items(TRACES, b"\x78\x01" * 800, 100)


@given(st.binary(max_size=300))
def test_anything_at_all(data: bytes) -> None:
    """Whatever comes is answered."""
    for signal in SIGNALS:
        assert has_more_items(signal, data, 1) in (True, False)
