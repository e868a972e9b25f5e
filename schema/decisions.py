"""Decisions about thresholds: into the table `threshold_decisions`, or to a receiver that puts them there.

As with reports, a service's query port only reads, so a loop that knows the service alone sends each decision
as an OTLP log record (scope `otel_attrib.control`), which a view turns into a row. Rows are only ever added.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from otel_attrib.schema.epoch import microseconds
from otel_attrib.schema.log_record import LogRecord, receiver_of, send_to_receiver
from otel_attrib.schema.store import Store

__all__ = [
    "DecisionRow",
    "decision_into_receiver",
    "decision_into_store",
    "decision_moves",
    "decision_record",
    "decision_rows",
]

STAMP = pa.timestamp("us", "UTC")
TIMES = ("time", "decided")
WORDS = ("objective", "metric", "word", "rule", "sentence")
NUMBERS = (
    "quantile",
    "limit_ms",
    "before_ms",
    "after_ms",
    "candidate_ms",
    "day_ms",
    "baseline_ms",
    "buffer_ms",
)
SCOPE, EVENT = "otel_attrib.control", "otel_attrib.threshold_decision"
READ = """
SELECT * FROM threshold_decisions
WHERE time <= fromUnixTimestamp64Micro({to_us:Int64}) AND time > fromUnixTimestamp64Micro({from_us:Int64})
  AND (empty({objectives:Array(String)}) OR objective IN {objectives:Array(String)})
ORDER BY time DESC, objective, metric, decided
LIMIT 1 BY objective, metric, time, limit_ms, baseline_ms, buffer_ms -- of two loops at once the first counts
LIMIT {most:UInt32}
"""
MOVES = """
SELECT * FROM threshold_decisions
WHERE time <= fromUnixTimestamp64Micro({to_us:Int64}) AND word IN ('raise', 'lower')
  AND objective IN {objectives:Array(String)}
ORDER BY time, decided
LIMIT 1 BY objective, metric, time, limit_ms, baseline_ms, buffer_ms
"""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One row of `threshold_decisions`; None is what was not asked or not given."""

    time: datetime
    decided: datetime
    objective: str
    metric: str
    quantile: float
    word: str
    limit_ms: float
    before_ms: float
    after_ms: float
    candidate_ms: float | None
    day_ms: float | None
    baseline_ms: float | None
    buffer_ms: float | None
    periods_ms: tuple[float | None, ...]
    periods_n: tuple[int, ...]
    rule: str
    sentence: str


def decision_rows(
    store: Store, since: datetime, until: datetime, objectives: tuple[str, ...] = (), most: int = 1000
) -> list[DecisionRow]:
    """Return the decisions with `since` < time ≤ `until`, the newest first; of all objectives or of some."""
    bound = {"from_us": microseconds(since), "to_us": microseconds(until), "most": most}
    return [_row(row) for row in store.rows(READ, {**bound, "objectives": list(objectives)})]


def decision_moves(store: Store, until: datetime, objectives: tuple[str, ...]) -> list[DecisionRow]:
    """Return the decisions up to `until` by which a threshold moved, the oldest first."""
    bound = {"to_us": microseconds(until), "objectives": list(objectives)}
    return [_row(row) for row in store.rows(MOVES, bound)]


def _row(row: dict[str, object]) -> DecisionRow:
    lists = {name: tuple(row[name]) for name in ("periods_ms", "periods_n")}  # type: ignore[arg-type,var-annotated] # a driver's lists
    return DecisionRow(**{**row, **lists})  # type: ignore[arg-type] # the table's columns are the fields


def decision_into_store(store: Store) -> Callable[[DecisionRow], None]:
    """Return a way to write to a store that may be written to."""
    return lambda row: store.insert_arrow("threshold_decisions", _table(row))


def decision_into_receiver(url: str) -> Callable[[DecisionRow], None]:
    """Return a way to write through the OTLP receiver of the service at `url`."""
    address = receiver_of(url, "decisions")
    return lambda row: send_to_receiver(address, decision_record(row), "decision")


def _table(row: DecisionRow) -> pa.Table:
    columns = {name: pa.array([getattr(row, name)], STAMP) for name in TIMES}
    columns |= {name: pa.array([getattr(row, name)], pa.string()) for name in WORDS}
    columns |= {name: pa.array([getattr(row, name)], pa.float64()) for name in NUMBERS}
    columns["periods_ms"] = pa.array([list(row.periods_ms)], pa.list_(pa.float64()))
    columns["periods_n"] = pa.array([list(row.periods_n)], pa.list_(pa.uint64()))
    return pa.table(columns)


def decision_record(row: DecisionRow) -> LogRecord:
    """Return the log record that a view turns into the row again."""
    words = {name: str(getattr(row, name)) for name in ("objective", "metric", "word", "rule")}
    words |= {name: "" if getattr(row, name) is None else repr(float(getattr(row, name))) for name in NUMBERS}
    words |= {
        "decided_us": str(microseconds(row.decided)),
        "periods_ms": json.dumps(row.periods_ms),
        "periods_n": json.dumps(row.periods_n),
    }
    return LogRecord(row.time, SCOPE, EVENT, row.sentence, words)
