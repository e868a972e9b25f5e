"""Engine steps unpacked from the spans that carry them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from otel_attrib.schema.attributes import STEP_COLUMNS, STEPS_SCOPE, steps_attribute
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

IDENTITY = {"slatag.engine": "vllm", "slatag.replica": "1"}


def test_one_row_a_step(store: Store, spans: Spans) -> None:
    """Each element becomes its step's value; an empty one is not observed."""
    packed: dict[str, Any] = {steps_attribute(column): ",".join("1234") for column in STEP_COLUMNS}
    packed |= {
        "slatag.steps.first": 100,
        "slatag.steps.count": 4,
        "slatag.steps.start_us": "0,1500,3000,4500",
        "slatag.steps.kv_usage_ppm": "250000,,0,1000000",
        "slatag.steps.copy_us": ",,,",
    }
    insert_traces(store, [spans({**IDENTITY, **packed}, scope=STEPS_SCOPE, kind=1)], token="t")

    rows = store.rows("SELECT * FROM steps ORDER BY step")
    assert [100, 101, 102, 103] == [row["step"] for row in rows]
    assert [0.25, None, 0.0, 1.0] == [row["kv_usage"] for row in rows]
    assert {None} == {row["copy_us"] for row in rows}
    assert datetime(2026, 1, 1, 12, 0, 0, 1500, UTC) == rows[1]["time"]
    assert ("svc", "n0", "vllm", "1", 2.0, 2, 2.0) == tuple(
        rows[1][key]
        for key in ("service", "node", "engine", "replica", "duration_us", "batch_size", "output_us")
    )


def test_every_packed_column_has_its_own(store: Store) -> None:
    """What the shim packs and what the table keeps are the same columns."""
    columns = {
        row["name"]
        for row in store.rows(
            "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'steps'"
        )
    }
    kept = {"kv_usage" if name == "kv_usage_ppm" else name for name in STEP_COLUMNS if name != "start_us"}

    assert kept | {"time", "service", "node", "engine", "replica", "step"} == columns


def test_short_and_absurd_columns(store: Store, spans: Spans) -> None:
    """Columns shorter than the count, words among them, and absurd counts neither fail nor multiply."""
    odd = {"slatag.steps.count": 3, "slatag.steps.duration_us": "7", "slatag.steps.batch_size": "1,x,-2"}
    insert_traces(
        store,
        [
            spans(
                odd, {"slatag.steps.count": 4_000_000_000}, {"slatag.steps.count": "x"}, {}, scope=STEPS_SCOPE
            ),
        ],
        token="t",
    )

    rows = store.rows("SELECT duration_us, batch_size FROM steps ORDER BY time, step LIMIT 3")
    assert [(7.0, 1), (None, None), (None, None)] == [(row["duration_us"], row["batch_size"]) for row in rows]
    assert [{"n": 3 + 4096}] == store.rows("SELECT count() AS n FROM steps")


def test_steps_are_no_requests(store: Store, spans: Spans) -> None:
    """A step span gives steps only."""
    insert_traces(store, [spans({"slatag.steps.count": 1}, scope=STEPS_SCOPE)], token="t")

    assert [] == store.rows("SELECT * FROM requests")
