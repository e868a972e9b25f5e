"""Import one table of requests: survey it, turn its rows into spans, deliver those not there yet."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_attrib.collector.imports.delivery import Delivery
from otel_attrib.collector.imports.known import without_known
from otel_attrib.collector.imports.request import Plan, Request
from otel_attrib.collector.imports.spans import export_request, in_batches, spans
from otel_attrib.collector.imports.table import Bad, rows
from otel_attrib.collector.signals import TRACES
from otel_attrib.errors import DataError

__all__ = ["Tally", "deliver", "refuse_bad", "rehearse"]

BATCH = 5_000
_NAMED = 5


@dataclass(slots=True)
class Tally:
    """What became of every row: rows = imported + already + refused + bad."""

    rows: int = 0
    imported: int = 0
    already: int = 0
    refused: int = 0
    bad: int = 0
    named: list[Bad] = field(default_factory=list)
    observed: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    services: Counter[str] = field(default_factory=Counter)
    first_ns: int | None = None
    last_ns: int | None = None

    def add_bad(self, row: Bad) -> None:
        """Count a bad row; the first few are kept to be named."""
        self.rows += 1
        self.bad += 1
        if len(self.named) < _NAMED:
            self.named.append(row)

    def add(self, request: Request) -> None:
        """Count a good row and what it says."""
        took = request.took
        whole = {"ttft": took.ttft_us, "tpot": took.tpot_us, "e2e": took.e2e_us}
        self.rows += 1
        self.observed.update([*(name for name, us in whole.items() if us is not None), *took.stages])
        self.statuses[request.status] += 1
        self.services[request.texts.get("service", "import")] += 1
        start = request.start_ns
        self.first_ns = start if self.first_ns is None else min(self.first_ns, start)
        self.last_ns = start if self.last_ns is None else max(self.last_ns, start)


def deliver(
    stream: BinaryIO, plan: Plan, to: Delivery, advance: Callable[[int], None] = lambda rows: None
) -> Tally:
    """Send every good row; `advance` hears how many rows were dealt with since it was last called."""
    tally, told = Tally(), 0
    for batch in in_batches(spans(_requests(stream, plan, tally)), BATCH):
        message = ExportTraceServiceRequest.FromString(export_request(batch))
        already = without_known(to.store, message)
        fresh = len(batch) - already
        refused = to.send(TRACES, message.SerializeToString(deterministic=True)) if fresh else 0
        tally.already += already
        tally.refused += refused
        tally.imported += fresh - refused
        advance(tally.rows - told)
        told = tally.rows
    advance(tally.rows - told)
    to.finish()
    return tally


def refuse_bad(stream: BinaryIO, plan: Plan) -> None:
    """Read the whole table without sending anything; the first bad row is a `DataError`."""
    _, tally = rehearse(stream, plan, 0)
    plan.missing.clear()
    if tally.bad:
        first = tally.named[0]
        raise DataError(
            f"line {first.line}: {first.reason} ({tally.bad:,} bad of {tally.rows:,} rows; nothing imported)"
        )


def rehearse(stream: BinaryIO, plan: Plan, count: int) -> tuple[list[Request], Tally]:
    """Read the whole table without sending anything; the first good rows come back as requests."""
    tally = Tally()
    every = _requests(stream, plan, tally)
    first = list(islice(every, count))
    for _ in every:
        pass
    return first, tally


def _requests(stream: BinaryIO, plan: Plan, tally: Tally) -> Iterator[Request]:
    for row in rows(stream):
        if isinstance(row, Bad):
            tally.add_bad(row)
            continue
        try:
            request = plan.request(row)
        except ValueError as fault:
            tally.add_bad(Bad(row.line, str(fault)))
            continue
        tally.add(request)
        yield request
