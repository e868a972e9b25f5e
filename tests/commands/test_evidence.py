"""`evidence` says what cards and hosts did in a window."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from otel_attrib.schema.store import Store

Run = Callable[..., str]
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")


@pytest.fixture(autouse=True)
def waiting(store: Store) -> None:
    """One request on n1, whose threads wait 20 ms a second, 80 from the noon on."""
    store.insert_arrow(
        "requests",
        pa.table(
            {
                "time": pa.array([START + timedelta(seconds=30)], STAMP),
                "trace_id": ["1" * 32], "node": ["n1"], "service": ["chat"], "ttft_us": [5e5],
            }
        ),
    )  # fmt: skip
    seconds = range(-120, 120)
    store.insert_arrow(
        "samples",
        pa.table(
            {
                "time": pa.array([START + timedelta(seconds=second) for second in seconds], STAMP),
                "metric": ["slatag.process.run_queue_wait"] * len(seconds),
                "node": ["n1"] * len(seconds),
                "value": [10 + 0.02 * second + 0.06 * max(0, second) for second in seconds],
            }
        ),
    )


def test_a_window(run: Run) -> None:
    """The answer in the first line; the numbers in the JSON."""
    window = "2026-05-01T12:00:00Z..2026-05-01T12:01:00Z"
    first, *rest = run("evidence", "--window", window).splitlines()
    told = json.loads(run("evidence", "--window", window, "--json"))

    assert "evidence: engine threads runnable, not running 80 ms/s on n1, 20 before" == first
    assert [] == [line for line in rest if len(line) > 80]
    assert ("otel-attrib/evidence/1", ["n1"], 1) == (told["schema"], told["nodes"], told["engines"])
    (line,) = told["counters"]
    assert pytest.approx((0.08, 0.02, 1.0)) == (line["value"], line["before"], line["coverage"])


def test_a_dimension_that_is_none(run: Run) -> None:
    """A condition on what requests do not have is the user's mistake."""
    assert "no dimension 'card' here" in run("evidence", "--where", "card=0", code=2)


def test_the_same_in_sql(run: Run) -> None:
    """The views are asked with `sql` like any table, and say what the command says."""
    told = run(
        "sql",
        "SELECT counter, round(value, 6) AS grown, coverage FROM window_evidence("
        "from = '2026-05-01 12:00:00', to = '2026-05-01 12:01:00', nodes = ['n1'])",
        "--format",
        "JSONEachRow",
    )

    assert {"counter": "run_queue_wait", "grown": 4.8, "coverage": 1} == json.loads(told)
