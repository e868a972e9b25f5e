"""Is a request what it claims to be? Whole requests are refused, single bad items are taken out and counted.

Everything is parsed with Protobuf's C parser before it is acknowledged (about 1.6 µs a span): in the
store one unreadable request would spoil its whole block. What passes goes on as the bytes that came.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

from google.protobuf.message import DecodeError

from otel_attrib.collector import otlp_json
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import LOGS, METRICS, TRACES, Signal
from otel_attrib.errors import DataError

__all__ = ["Verdict", "check"]

# DateTime64(9) holds nanoseconds as Int64.
_LATEST = 1 << 63
_TRACE, _SPAN = 16, 8

# What is wrong with one item, or None.
Judge = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to keep of a request, and what was taken out and why."""

    payload: bytes
    items: int
    rejected: int = 0
    why: str = ""


def check(signal: Signal, body: bytes, is_json: bool = False) -> Verdict:
    """Parse `body` and judge its items; `Refusal` when it is no request at all."""
    try:
        request = otlp_json.parse(signal.request, body) if is_json else signal.decode(body)
    except (DataError, DecodeError) as fault:
        raise Refusal("malformed", f"the body is no OTLP {signal.name} request: {fault}") from fault
    lists = list(_LISTS[signal.name](request))
    total = sum(map(len, lists))
    if all(_FAST[signal.name](items) for items in lists):
        return Verdict(request.SerializeToString() if is_json else body, total)
    faults = Counter(chain.from_iterable(_take_out(items, _JUDGES[signal.name]) for items in lists))
    why = "; ".join(f"{count} with {fault}" for fault, count in faults.most_common())
    rejected = faults.total()
    return Verdict(request.SerializeToString(), total - rejected, rejected, why)


def _take_out(items: Any, judge: Judge) -> Iterator[str]:
    """Remove bad items from a repeated field, giving each one's fault."""
    for index in range(len(items) - 1, -1, -1):
        fault = judge(items[index])
        if fault:
            del items[index]
            yield fault


def _span_lists(request: Any) -> Iterable[Any]:
    return (scope.spans for resource in request.resource_spans for scope in resource.scope_spans)


def _log_lists(request: Any) -> Iterable[Any]:
    return (scope.log_records for resource in request.resource_logs for scope in resource.scope_logs)


def _point_lists(request: Any) -> Iterable[Any]:
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind:
                    yield getattr(metric, kind).data_points


_trace_id, _span_id, _parent_id = attrgetter("trace_id"), attrgetter("span_id"), attrgetter("parent_span_id")
_start, _end = (attrgetter(f"{name}_unix_nano") for name in ("start_time", "end_time"))


def _spans_are_good(spans: Sequence[Any]) -> bool:
    """The same as `_judge_span` of each, ten times as fast."""
    items = list(spans)
    traces, ids = set(map(_trace_id, items)), set(map(_span_id, items))
    return (
        {_TRACE} >= set(map(len, traces))
        and {_SPAN} >= set(map(len, ids))
        and {0, _SPAN} >= set(map(len, map(_parent_id, items)))
        and bytes(_TRACE) not in traces
        and bytes(_SPAN) not in ids
        and max(map(_start, items), default=0) < _LATEST
        and max(map(_end, items), default=0) < _LATEST
    )


def _judge_span(span: Any) -> str | None:
    if len(span.trace_id) != _TRACE or not any(span.trace_id):
        return "a trace_id that is not 16 bytes, or all zero"
    if len(span.span_id) != _SPAN or not any(span.span_id):
        return "a span_id that is not 8 bytes, or all zero"
    if len(span.parent_span_id) not in (0, _SPAN):
        return "a parent_span_id that is not 8 bytes"
    return _late(span.start_time_unix_nano, span.end_time_unix_nano)


def _points_are_good(points: Sequence[Any]) -> bool:
    return all(_judge_point(point) is None for point in points)


def _judge_point(point: Any) -> str | None:
    return _late(point.start_time_unix_nano, point.time_unix_nano)


def _records_are_good(records: Sequence[Any]) -> bool:
    return all(_judge_record(record) is None for record in records)


def _judge_record(record: Any) -> str | None:
    if len(record.trace_id) not in (0, _TRACE):
        return "a trace_id that is not 16 bytes"
    if len(record.span_id) not in (0, _SPAN):
        return "a span_id that is not 8 bytes"
    return _late(record.time_unix_nano, record.observed_time_unix_nano)


def _late(*times: int) -> str | None:
    return "a time past the year 2262" if max(times) >= _LATEST else None


_LISTS = {TRACES.name: _span_lists, METRICS.name: _point_lists, LOGS.name: _log_lists}
_FAST = {TRACES.name: _spans_are_good, METRICS.name: _points_are_good, LOGS.name: _records_are_good}
_JUDGES: dict[str, Judge] = {
    TRACES.name: _judge_span,
    METRICS.name: _judge_point,
    LOGS.name: _judge_record,
}
