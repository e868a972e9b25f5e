"""Old data of many days passes a service whole, in several requests."""

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.imports.days import by_days
from otel_attrib.collector.signals import TRACES
from otel_attrib.collector.validate import DAY_NS, MOST_DAYS, check, item_lists


def test_few_days_pass_as_they_are() -> None:
    """A request of one day is the same object."""
    body = bodies.traces(5).SerializeToString()

    assert [body] == list(by_days(TRACES, body))


def test_many_days_are_several_requests() -> None:
    """Of 150 days each span is in exactly one of three requests, and each request is taken whole."""
    request = bodies.traces(300)
    spans = request.resource_spans[0].scope_spans[0].spans
    for number, span in enumerate(spans):
        span.start_time_unix_nano = (number % 150) * DAY_NS
    cut = list(by_days(TRACES, request.SerializeToString()))
    verdicts = [check(TRACES, body, most_days=MOST_DAYS) for body in cut]
    kept = [span.span_id for body in cut for held in item_lists(TRACES, TRACES.decode(body)) for span in held]

    assert [(128, 0), (128, 0), (44, 0)] == [(verdict.items, verdict.rejected) for verdict in verdicts]
    assert sorted(span.span_id for span in spans) == sorted(kept)
