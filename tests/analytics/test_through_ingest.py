"""From OTLP bytes to the answer: spans as the shim writes them, through the store's own views."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import ceil, log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.quantiles import Sliding, slide
from otel_attrib.analytics.question import pose
from otel_attrib.analytics.why import explain
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.attributes import (
    DECODE_STAGES,
    REQUEST_SCOPE,
    SKETCH_GROWTH,
    STAGES,
    decode_attribute,
    stage_attribute,
)
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
Requests = Callable[..., pa.Table]


def export(table: pa.Table) -> bytes:
    """One export request with a SERVER span for each row."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.extend(keys({"service.name": "chat", "host.name": "n0"}))
    scope = resource.scope_spans.add()
    scope.scope.name = REQUEST_SCOPE
    scope.spans.extend(span(row) for row in table.to_pylist())
    return message.SerializeToString()


def span(row: Mapping[str, Any]) -> Span:
    """A request's span, its gaps as the sketch."""
    start = int(row["time"].timestamp() * 1_000_000) * 1000
    attributes: dict[str, str | int | float] = {
        "gen_ai.request.model": row["model"],
        "gen_ai.usage.input_tokens": row["prompt_tokens"],
        "gen_ai.usage.output_tokens": row["output_tokens"],
        "slatag.status": row["status"],
        "slatag.first_byte_latency_us": row["ttft_us"],
        "slatag.tpot_us": row["tpot_us"],
        "slatag.e2e_us": row["e2e_us"],
        "slatag.token_gap.sketch": sketch(row["gaps_us"]),
        **{stage_attribute(stage): row[f"{stage}_us"] for stage in STAGES},
        **{decode_attribute(stage): row[f"decode_{stage}_us"] for stage in DECODE_STAGES},
    }
    return Span(
        trace_id=bytes.fromhex(row["trace_id"]),
        span_id=bytes.fromhex(row["trace_id"][-16:])[:7] + b"\1",
        name="chat",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=start,
        end_time_unix_nano=start + int(row["e2e_us"] * 1000),
        attributes=keys(attributes),
    )


def keys(attributes: Mapping[str, str | int | float]) -> list[KeyValue]:
    """Attributes as OTLP writes them."""
    pairs = [KeyValue(key=key) for key in attributes]
    for pair, value in zip(pairs, attributes.values(), strict=True):
        kind = {str: "string_value", int: "int_value", float: "double_value"}[type(value)]
        setattr(pair.value, kind, value)
    return pairs


def sketch(gaps: list[float]) -> str:
    """Gaps in logarithmic buckets: index ⌈log gap / log 1.02⌉."""
    counts = Counter(ceil(log(gap) / log(SKETCH_GROWTH)) for gap in gaps)
    return " ".join(f"{index}:{count}" for index, count in sorted(counts.items()))


def test_a_fault_comes_through(store: Store, requests: Requests) -> None:
    """Spans with a prefill fault give the same report as the rows that they were made from."""
    tables = [
        requests(700, seed=1, gaps=True),
        requests(700, seed=2, start=NOON + QUARTER, factors={"prefill": 2.0}, gaps=True),
    ]
    for number, table in enumerate(tables):
        insert_traces(store, [export(table)], f"block {number}")
    report = explain(store, pose(store, at="2026-05-01T12:30:00Z"))

    assert ("GLOBAL", "prefill") == (report.verdict.word, report.by_size[0][0])
    assert (700, 700) == (report.baseline.n, report.current.n)
    store.command("TRUNCATE TABLE requests")
    for table in tables:
        store.insert_arrow("requests", table)
    direct = explain(store, pose(store, at="2026-05-01T12:30:00Z"))
    assert direct.delta is not None and report.delta is not None
    assert direct.delta.value == pytest.approx(report.delta.value, rel=1e-9)
    assert {e.trace_id for e in direct.exemplars} == {e.trace_id for e in report.exemplars}


@pytest.mark.parametrize("exact", [False, True], ids=["states", "exact"])
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_gaps_of_a_sketch_are_within_the_printed_bound(
    store: Store, requests: Requests, exact: bool, level: float
) -> None:
    """TBT from spans that carry sketches is within the bound of numpy on the true gaps."""
    table = requests(300, seed=3, gaps=True)
    insert_traces(store, [export(table)], f"sketch {level} {exact}")  # one token is stored once
    asked = Sliding(METRICS["tbt"], level, 900, 900, Window(NOON, NOON + QUARTER), exact=exact)
    (point,) = slide(store, asked)

    true = np.concatenate([gaps.values.to_numpy() for gaps in table["gaps_us"]]).astype(np.float64)
    expected = float(np.quantile(true, level, method="lower")) / 1000
    assert point.ms is not None
    assert abs(point.ms / expected - 1) <= asked.bound().relative + 1e-6  # stored as 32-bit floats
    assert (0.01 if exact else 0.0201) == pytest.approx(asked.bound().relative)
