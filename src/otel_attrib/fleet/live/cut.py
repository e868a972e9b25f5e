"""Export requests cut anew by the second in which an item is known: a span at its end, a reading at once."""

from collections.abc import Iterable, Iterator
from typing import Any

from otel_attrib.collector.signals import METRICS, Signal
from otel_attrib.collector.validate import item_lists

__all__ = ["by_second", "later"]

SECOND_NS = 1_000_000_000
Group = tuple[Any, Any, Any]  # resource, scope, metric (None of spans)


def by_second(signal: Signal, bodies: Iterable[bytes]) -> dict[int, bytes]:
    """Return, by second since 1970 in which the items are complete, one serialized request with all of them.

    Nothing is lost or changed, and in each request a resource stands once.
    """
    cut: dict[int, _Request] = {}
    for body in bodies:
        for group, items in _groups(signal, signal.decode(body)):
            key = tuple(part.SerializeToString(deterministic=True) for part in _identity(*group))
            for item in items:
                second = -(-_known_ns(signal, item) // SECOND_NS)
                cut.setdefault(second, _Request(signal)).place(key, group).add().CopyFrom(item)
    return {second: request.body() for second, request in sorted(cut.items())}


def later(signal: Signal, body: bytes, seconds: int) -> bytes:
    """Return the same request with all its times moved by whole seconds."""
    request, shift = signal.decode(body), seconds * SECOND_NS
    fields = ("time_unix_nano",) if signal is METRICS else ("start_time_unix_nano", "end_time_unix_nano")
    for items in item_lists(signal, request):
        for item in items:
            for field in fields:
                setattr(item, field, getattr(item, field) + shift)
    moved: bytes = request.SerializeToString(deterministic=True)
    return moved


class _Request:
    """One request under way."""

    def __init__(self, signal: Signal) -> None:
        self._signal = signal
        self._message: Any = signal.request()
        self._places: dict[tuple[bytes, ...], Any] = {}

    def place(self, key: tuple[bytes, ...], group: Group) -> Any:
        """Return the list that items of a group go to."""
        if key not in self._places:
            self._places[key] = _new_place(self._message, self._signal, *group)
        return self._places[key]

    def body(self) -> bytes:
        """Return it serialized."""
        written: bytes = self._message.SerializeToString(deterministic=True)
        return written


def _groups(signal: Signal, request: Any) -> Iterator[tuple[Group, Any]]:
    if signal is METRICS:
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                yield from (((resource, scope, metric), _points(metric)) for metric in scope.metrics)
        return
    for resource in request.resource_spans:
        yield from (((resource, scope, None), scope.spans) for scope in resource.scope_spans)


def _identity(resource: Any, scope: Any, metric: Any) -> Iterator[Any]:
    yield resource.resource
    yield scope.scope
    if metric is not None:
        bare = type(metric)()
        bare.name, bare.unit = metric.name, metric.unit
        yield bare


def _new_place(message: Any, signal: Signal, resource: Any, scope: Any, metric: Any) -> Any:
    if signal is not METRICS:
        new_resource = message.resource_spans.add()
        new_resource.resource.CopyFrom(resource.resource)
        new_scope = new_resource.scope_spans.add()
        new_scope.scope.CopyFrom(scope.scope)
        return new_scope.spans
    new_resource = message.resource_metrics.add()
    new_resource.resource.CopyFrom(resource.resource)
    new_scope = new_resource.scope_metrics.add()
    new_scope.scope.CopyFrom(scope.scope)
    new_metric = new_scope.metrics.add()
    new_metric.CopyFrom(metric)
    del _points(new_metric)[:]
    return _points(new_metric)


def _points(metric: Any) -> Any:
    return getattr(metric, metric.WhichOneof("data")).data_points


def _known_ns(signal: Signal, item: Any) -> int:
    known: int = item.time_unix_nano if signal is METRICS else item.end_time_unix_nano
    return known
