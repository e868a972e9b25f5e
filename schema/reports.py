"""Reports of `otel-attrib watch`: into the table `reports`, or to a receiver that puts them there.

A service's query port only reads, so a watch that knows the service alone sends each report as an OTLP log
record (scope `otel_attrib.watch`, event `otel_attrib.report`), which a view turns into a row.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from otel_attrib.schema.epoch import microseconds
from otel_attrib.schema.log_record import LogRecord, receiver_of, send_to_receiver
from otel_attrib.schema.store import Store

__all__ = ["ReportRow", "into_receiver", "into_store"]

STAMP = pa.timestamp("us", "UTC")
WORDS = ("incident", "state", "service", "model", "metric", "verdict", "layer", "report", "hash", "alert")
SCOPE, EVENT = "otel_attrib.watch", "otel_attrib.report"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of `reports`; `alert` is the JSON of what was told about it, empty where nobody was told."""

    time: datetime
    incident: str
    state: str
    onset: datetime
    service: str
    model: str
    metric: str
    quantile: float
    where: dict[str, str]
    verdict: str
    layer: str
    delta_ms: float | None
    report: str
    hash: str
    alert: str = ""


def into_store(store: Store) -> Callable[[ReportRow], None]:
    """Return a way to write to a store that may be written to."""
    return lambda row: store.insert_arrow("reports", _table(row))


def into_receiver(url: str) -> Callable[[ReportRow], None]:
    """Return a way to write through the OTLP receiver of the service at `url`."""
    address = receiver_of(url, "reports")
    return lambda row: send_to_receiver(address, _record(row), "report")


def _table(row: ReportRow) -> pa.Table:
    words = {name: pa.array([getattr(row, name)], pa.string()) for name in WORDS}
    return pa.table(
        {
            "time": pa.array([row.time], STAMP),
            "onset": pa.array([row.onset], STAMP),
            "quantile": pa.array([row.quantile], pa.float64()),
            "delta_ms": pa.array([row.delta_ms], pa.float64()),
            "where": pa.array([list(row.where.items())], pa.map_(pa.string(), pa.string())),
            **words,
        }
    )


def _record(row: ReportRow) -> LogRecord:
    words: dict[str, str] = {name: getattr(row, name) for name in WORDS if name != "report"}
    words |= {
        "onset_us": str(microseconds(row.onset)),
        "quantile": repr(row.quantile),
        "where": json.dumps(row.where, ensure_ascii=False),
        "delta_ms": "" if row.delta_ms is None else repr(row.delta_ms),
    }
    return LogRecord(row.time, SCOPE, EVENT, row.report, words, row.service, "WARN")
