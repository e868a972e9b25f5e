"""A block inserted again with its token adds nothing where it is, and is written where it is missing."""

from collections.abc import Callable

import pytest

from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

COUNTS = """
SELECT
    (SELECT count() FROM otel_traces) AS spans,
    (SELECT count() FROM requests) AS requests,
    (SELECT sum(requests) FROM requests_10s) AS rolled_up,
    (SELECT sum(requests) FROM requests_60s) AS by_minute,
    (SELECT arraySum(sumMap(e2e_bins).2) FROM requests_60s) AS binned,
    (SELECT count() FROM steps) AS steps,
    (SELECT count() FROM otel_traces_trace_id_ts) AS traces
"""
STEPS = {"slatag.steps.first": 1, "slatag.steps.count": 2, "slatag.steps.start_us": "0,5"}


def blocks(spans: Spans) -> list[bytes]:
    """Three requests, one native request and one span of two steps."""
    native = {"gen_ai.latency.e2e": 1.0}
    return [
        spans({"a": 1}, {"a": 2}, {"a": 3}),
        spans(native, scope="vllm.tracing.otel", name="llm_request", start_ns=1_767_268_900_000_000_000),
        spans(STEPS, scope="otel_attrib.steps", kind=1, start_ns=1_767_269_000_000_000_000),
    ]


ONCE = {"spans": 5, "requests": 4, "rolled_up": 4, "by_minute": 4, "binned": 1, "steps": 2, "traces": 3}


def test_a_retry_adds_nothing(store: Store, spans: Spans) -> None:
    """Twice the same block with the same token is once."""
    insert_traces(store, blocks(spans), token="a")
    insert_traces(store, blocks(spans), token="a")

    assert [ONCE] == store.rows(COUNTS)


def test_equal_blocks_with_two_tokens_are_two(store: Store, spans: Spans) -> None:
    """It is the token that tells a retry: the same bytes may truly come twice."""
    insert_traces(store, blocks(spans), token="a")
    insert_traces(store, blocks(spans), token="b")

    assert [{key: 2 * count for key, count in ONCE.items()}] == store.rows(COUNTS)


def test_a_retry_long_after(store: Store, spans: Spans) -> None:
    """A token is remembered over a hundred blocks that came in between."""
    insert_traces(store, blocks(spans), token="a")
    for number in range(100):
        insert_traces(store, [spans({"n": number}, scope="other")], token=f"between-{number}")
    insert_traces(store, blocks(spans), token="a")

    assert [{**ONCE, "spans": 105, "traces": 103}] == store.rows(COUNTS)


@pytest.mark.parametrize(
    "table",
    ["requests", "requests_10s", "requests_60s", "bins of requests_60s", "steps", "otel_traces_trace_id_ts"],
)
def test_a_retry_fills_what_a_crash_left_out(store: Store, spans: Spans, table: str) -> None:
    """A table down the chain that missed its block has it after the retry, and no other has it twice."""
    view = {
        "requests": "requests_from_spans_mv",
        "requests_10s": "requests_10s_mv",
        "requests_60s": "requests_60s_states_mv",
        "bins of requests_60s": "requests_60s_bins_mv",
        "steps": "steps_mv",
        "otel_traces_trace_id_ts": "otel_traces_trace_id_ts_mv",
    }[table]
    store.command(f"DETACH TABLE {view}")
    insert_traces(store, blocks(spans), token="a")
    store.command(f"ATTACH TABLE {view}")
    assert [ONCE] != store.rows(COUNTS)

    insert_traces(store, blocks(spans), token="a")

    assert [ONCE] == store.rows(COUNTS)
