"""Decisions about thresholds come back as they were, whichever way they went in, and are only ever added."""

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from otel_attrib.schema.decisions import (
    DecisionRow,
    decision_into_store,
    decision_moves,
    decision_record,
    decision_rows,
)
from otel_attrib.schema.ingest import insert_logs
from otel_attrib.schema.layout import Layout
from otel_attrib.schema.migration import migrations
from otel_attrib.schema.store import Store

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROW = DecisionRow(
    time=NOON,
    decided=NOON + timedelta(microseconds=30_000_001),
    objective="größer",
    metric="ttft",
    quantile=0.99,
    word="raise",
    limit_ms=120.0,
    before_ms=110.0,
    after_ms=134.25,
    candidate_ms=134.25,
    day_ms=130.5,
    baseline_ms=120.0,
    buffer_ms=15.0,
    periods_ms=(134.0, None, 134.5),
    periods_n=(1000, 0, 2**40),
    rule='{"factor": 1.2}',
    sentence="P99 TTFT was “high”.",
)
BARE = DecisionRow(
    **{name: getattr(ROW, name) for name in ROW.__slots__}
    | {"word": "no change", "candidate_ms": None, "day_ms": None, "baseline_ms": None, "buffer_ms": None}
)


@pytest.mark.parametrize("row", [ROW, BARE], ids=["moved", "no change"])
def test_into_the_store(store: Store, row: DecisionRow) -> None:
    """What is written to the table is read from it."""
    decision_into_store(store)(row)

    assert [row] == decision_rows(store, NOON - timedelta(1), NOON)


@pytest.mark.parametrize("row", [ROW, BARE], ids=["moved", "no change"])
def test_as_a_log_record(store: Store, row: DecisionRow) -> None:
    """What is sent to a receiver as a log record arrives in the table as the same row."""
    message = ParseDict(decision_record(row).export(), ExportLogsServiceRequest())
    insert_logs(store, [message.SerializeToString()], token="t")

    assert [row] == decision_rows(store, NOON - timedelta(1), NOON)


def test_other_logs_are_no_decisions(store: Store) -> None:
    """A log record of anybody else makes no row."""
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = "otel_attrib.threshold_decision"
    insert_logs(store, [message.SerializeToString()], token="u")

    assert [] == decision_rows(store, datetime(1970, 1, 1, tzinfo=UTC), NOON)


def test_spans_and_names(store: Store) -> None:
    """A span is open at its start and closed at its end; names choose; moves come oldest first."""
    keep = decision_into_store(store)
    later = DecisionRow(
        **{name: getattr(ROW, name) for name in ROW.__slots__} | {"time": NOON + timedelta(hours=1)}
    )
    for row in (later, ROW, BARE):
        keep(row)

    assert [later] == decision_rows(store, NOON, later.time)
    assert [] == decision_rows(store, NOON, later.time, ("other",))
    assert [ROW, later] == decision_moves(store, later.time, ("größer",))
    assert [ROW] == decision_moves(store, NOON, ("größer",))


def test_the_log_does_not_expire_and_has_its_twin() -> None:
    """The table has no time to live, and on a cluster the name that people query over all shards."""
    (migration,) = [one for one in migrations() if one.name == "threshold_decisions"]
    one, cluster = (
        migration.statements(layout)
        for layout in (Layout(ttl_days=30), Layout("ReplicatedMergeTree", "main", 30))
    )

    assert [] == migration.ttls(Layout(ttl_days=30))
    assert (2, 3) == (len(one), len(cluster))
    assert "threshold_decisions_local ON CLUSTER 'main'" in cluster[0]
    assert "Distributed('main', currentDatabase(), 'threshold_decisions_local'" in cluster[2]


def test_of_two_loops_the_first_counts(store: Store) -> None:
    """Two loops that judge the same period leave the decision that was made first, in either order."""
    other = DecisionRow(
        **{name: getattr(ROW, name) for name in ROW.__slots__}
        | {"decided": ROW.decided + timedelta(seconds=1), "after_ms": 130.0}
    )
    for row in (other, ROW):
        decision_into_store(store)(row)

    assert [ROW] == decision_rows(store, NOON - timedelta(1), NOON)
    assert [ROW] == decision_moves(store, NOON, (ROW.objective,))
