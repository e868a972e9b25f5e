"""Facts ride on trace headers and are gone before vLLM looks."""

from types import SimpleNamespace

from otel_attrib.instrumentation.facts import First, Last
from otel_attrib.instrumentation.vllm.wire import FIRST, LAST, attach, detach

ONE = First(1, 2, 3, 4, 5, 6, -1, 8, 9, 10, 11, 12)
TWO = Last(1, -1, 3, 4, 5, 6, 7, 8, 9, 10)


def test_round_trip_beside_the_callers_headers() -> None:
    """Both packets come back, and what is left is what the caller sent."""
    output = SimpleNamespace(trace_headers={"traceparent": "00-1-2-01"})

    attach(output, FIRST, ONE)
    attach(output, LAST, TWO)

    assert all(type(value) is str for value in output.trace_headers.values())
    assert ({"traceparent": "00-1-2-01"}, ONE, TWO) == detach(output.trace_headers)


def test_nothing_is_left_of_our_own() -> None:
    """Where the caller sent no headers vLLM sees None again."""
    output = SimpleNamespace(trace_headers=None)

    attach(output, FIRST, ONE)

    assert (None, ONE, None) == detach(output.trace_headers)


def test_the_requests_own_headers_are_not_touched() -> None:
    """An output shares its request's mapping; the packet goes into a copy."""
    shared = {"traceparent": "00-1-2-01"}
    output = SimpleNamespace(trace_headers=shared)

    attach(output, LAST, TWO)

    assert {"traceparent": "00-1-2-01"} == shared


def test_headers_without_packets() -> None:
    """Trace headers of vLLM's own tracing pass as they are."""
    assert ({"traceparent": "x"}, None, None) == detach({"traceparent": "x"})
