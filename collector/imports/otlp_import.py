"""Import files of exported OTLP: read each, batch by signal, deliver what is not there yet."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.imports.framing import elements
from otel_attrib.collector.imports.known import without_known
from otel_attrib.collector.imports.otlp_file import BadPart, Part, parts
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import LOGS, SIGNALS, TRACES, Signal
from otel_attrib.collector.validate import Verdict, check

__all__ = ["OtlpTally", "count_items", "deliver_file"]

_BATCH_BYTES = 4 << 20
_NAMED = 5


@dataclass(slots=True)
class OtlpTally:
    """What became of everything in the files, by signal; `items` are spans, data points, log records."""

    files: int = 0
    requests: int = 0
    items: Counter[str] = field(default_factory=Counter)
    already: int = 0
    refused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    services: Counter[str] = field(default_factory=Counter)
    first_ns: int | None = None
    bad: int = 0
    named: list[tuple[str, BadPart]] = field(default_factory=list)

    def add_bad(self, path: str, part: BadPart) -> None:
        """Count what could not be read; the first few are kept to be named."""
        self.bad += 1
        if len(self.named) < _NAMED:
            self.named.append((path, part))


def deliver_file(path: str, stream: BinaryIO, to: Delivery | None, tally: OtlpTally) -> None:
    """Send one file's requests; without `to` they are only counted."""
    tally.files += 1
    for signal, body in _batches(_good(path, parts(stream), tally)):
        message = signal.decode(body)
        tally.services.update(_services(message))
        items = count_items(signal, message)
        if signal is TRACES:
            tally.first_ns = min(filter(None, [tally.first_ns, *_starts(message)]), default=None)
        if to is not None:
            already = without_known(to.store, message) if signal is TRACES else 0
            if already < items:
                body = message.SerializeToString() if already else body
                tally.refused += to.send(signal, body)
            tally.already += already
            items -= already
        tally.items[signal.name] += items


def count_items(signal: Signal, message: Any) -> int:
    """Spans, data points or log records of a request."""
    if signal is TRACES:
        return sum(len(scope.spans) for part in message.resource_spans for scope in part.scope_spans)
    if signal is LOGS:
        return sum(len(scope.log_records) for part in message.resource_logs for scope in part.scope_logs)
    scopes = (scope for part in message.resource_metrics for scope in part.scope_metrics)
    return sum(_points(metric) for scope in scopes for metric in scope.metrics)


def _starts(message: Any) -> Iterator[int]:
    for part in message.resource_spans:
        for scope in part.scope_spans:
            yield from (span.start_time_unix_nano for span in scope.spans)


def _points(metric: Any) -> int:
    kind = metric.WhichOneof("data")
    return len(getattr(metric, kind).data_points) if kind else 0


def _services(message: Any) -> Iterator[str]:
    for part in message.ListFields()[0][1]:
        for attribute in part.resource.attributes:
            if attribute.key == "service.name":
                yield attribute.value.string_value


def _good(path: str, found: Iterator[Part | BadPart], tally: OtlpTally) -> Iterator[tuple[Signal, bytes]]:
    """Requests without their bad items, which are counted as refused."""
    for part in found:
        checked = part if isinstance(part, BadPart) else _checked(part)
        if isinstance(checked, BadPart):
            tally.add_bad(path, checked)
            continue
        tally.requests += 1
        tally.refused += checked.rejected
        tally.reasons.update([checked.why] * bool(checked.why))
        if isinstance(part, Part) and checked.items:
            yield part.signal, checked.payload


def _checked(part: Part) -> Verdict | BadPart:
    try:
        return check(part.signal, part.body, part.is_json)
    except Refusal as fault:
        return BadPart(part.place, str(fault))


def _batches(found: Iterator[tuple[Signal, bytes]]) -> Iterator[tuple[Signal, bytes]]:
    """Requests of one signal put together: serialized messages one behind another are one message."""
    waiting = {signal.name: bytearray() for signal in SIGNALS}
    for signal, payload in found:
        for piece in _pieces(payload):
            body = waiting[signal.name]
            if body and len(body) + len(piece) > _BATCH_BYTES:
                yield signal, bytes(body)
                body.clear()
            body += piece
    yield from ((signal, bytes(waiting[signal.name])) for signal in SIGNALS if waiting[signal.name])


def _pieces(body: bytes) -> Sequence[bytes]:
    """A request too large for one batch is cut between its resources."""
    return [body] if len(body) <= _BATCH_BYTES else elements(body) or [body]
