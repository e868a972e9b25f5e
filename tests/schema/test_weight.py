"""How many requests a row stands for: the span's word, the trace state's, and what the states count."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.migration import migrations
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

WEIGHTS = "SELECT weight, count() AS n FROM requests GROUP BY weight ORDER BY weight"


def weights(store: Store) -> dict[int, int]:
    """Each weight that rows have, and how many have it."""
    return {row["weight"]: row["n"] for row in store.rows(WEIGHTS)}


@pytest.mark.parametrize(
    ("attribute", "trace_state", "expected"),
    [
        (None, "", 1),
        (10.0, "", 10),
        (25, "", 25),
        ("4", "", 4),
        (None, "ot=th:0", 1),
        (None, "ot=th:8", 2),
        (None, "ot=th:c", 4),
        (None, "ot=rv:0123456789abcd;th:f", 16),
        (None, "rojo=00f067aa0ba902b7, ot=th:c;rv:0123456789abcd,congo=t61rcWkgMzE", 4),
        (10.0, "ot=th:8", 10),
    ],
)
def test_where_a_weight_comes_from(
    store: Store, spans: Spans, attribute: Any, trace_state: str, expected: int
) -> None:
    """The attribute counts, else the threshold of W3C's trace state, 2^56 / (2^56 - T), else one."""
    values = {} if attribute is None else {"slatag.sample.weight": attribute}
    insert_traces(store, [spans(values, trace_state=trace_state)], token="t")

    assert {expected: 1} == weights(store)


@pytest.mark.parametrize("attribute", ["0", "-3", "0.5", "nan", "inf", "-inf", "1e9", "1001", "x", "", "1,5"])
def test_what_is_no_weight(store: Store, spans: Spans, attribute: str) -> None:
    """A weight below 1, above 1000 or no number is one: it neither fails a block nor drowns the others."""
    insert_traces(store, [spans({"slatag.sample.weight": attribute})], token="t")

    assert {1: 1} == weights(store)


@pytest.mark.parametrize(
    "trace_state",
    [
        "ot=th:g",
        "ot=th:",
        "ot=th:123456789abcdef",
        "bot=th:8",
        "ot=nth:8",
        "ot=rv:8",
        "th:8",
        "ot=th:ffffffffffffff",
    ],
)
def test_what_is_no_threshold(store: Store, spans: Spans, trace_state: str) -> None:
    """Another vendor's entry, another key, too many digits: no threshold."""
    insert_traces(store, [spans({}, trace_state=trace_state)], token="t")

    assert {1: 1} == weights(store)


def test_a_part_of_a_request(store: Store, spans: Spans) -> None:
    """A weight of 3 1/3 is 3 or 4 by chance drawn from the trace id, 3 1/3 on average."""
    count = 3000
    insert_traces(store, [spans(*[{"slatag.sample.weight": 10 / 3}] * count)], token="t")

    found = weights(store)

    assert {3, 4} == set(found)
    # 4.5 standard deviations of a mean of `count` draws of one with a chance of 1/3.
    assert 10 / 3 == pytest.approx((3 * found[3] + 4 * found[4]) / count, abs=4.5 * (2 / 9 / count) ** 0.5)


def repeated(weighted: bool) -> list[dict[str, Any]]:
    """Requests with a weight, or each so often as its weight says."""
    chance = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for number in range(60):
        weight = int(chance.choice([1, 1, 3, 10]))
        values = {
            "slatag.first_byte_latency_us": float(chance.lognormal(11, 1)),
            "slatag.tpot_us": float(chance.lognormal(9, 0.5)),
            "slatag.e2e_us": float(chance.lognormal(13, 1)),
            "slatag.stage.queue_us": float(chance.integers(1, 10_000)),
            "slatag.token_gap.sketch": f"{chance.integers(300, 700)}:{chance.integers(1, 20)}",
            "gen_ai.usage.output_tokens": int(chance.integers(20, 400)),
            "slatag.tenant": f"t{number % 3}",
            "slatag.status": "error" if number % 10 == 0 else "ok",
        }
        rows += [{**values, "slatag.sample.weight": weight}] if weighted else [values] * weight
    return rows


SUMS = ("requests", "errors", "output_tokens", "queue_us_sum", "queue_us_count", "prefill_us_count")
STATES = ("ttft", "tpot", "tbt", "e2e")


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_states_are_those_of_the_requests_stood_for(store: Store, spans: Spans, level: float) -> None:
    """Ten seconds of weighted rows hold the same sums and quantiles as each row so often as it counts."""
    parts = [f"sum({one}) AS {one}" for one in SUMS]
    parts += [f"quantileDDMerge(0.01, {level})({one}) AS {one}" for one in STATES]
    asked = f"SELECT tenant, {', '.join(parts)} FROM requests_10s GROUP BY tenant ORDER BY tenant"

    insert_traces(store, [spans(*repeated(weighted=True), step_ns=1000)], token="weighted")
    weighted = store.rows(asked)
    store.command("TRUNCATE TABLE requests_10s")
    insert_traces(store, [spans(*repeated(weighted=False), step_ns=1000)], token="repeated")

    assert store.rows(asked) == weighted


@pytest.fixture
def old_store(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store as it was before rows had a weight."""
    before = tuple(one for one in migrations() if one.version < 17)
    with monkeypatch.context() as earlier:
        earlier.setattr("otel_attrib.schema.migrate.migrations", lambda: before)
        migrate(empty_store)
    yield empty_store


def test_an_old_store(old_store: Store, spans: Spans) -> None:
    """Rows from before an update count once, later ones as they say, and the states add both up."""
    insert_traces(old_store, [spans({}, {})], token="before")
    migrate(old_store)
    insert_traces(old_store, [spans({"slatag.sample.weight": 5.0})], token="after")

    assert {1: 2, 5: 1} == weights(old_store)
    assert [{"n": 7}] == old_store.rows("SELECT sum(requests) AS n FROM requests_10s")
