"""Reports of `otel-attrib watch`: into the table `reports`, or to a receiver that puts them there.

A service's query port only reads, so a watch that knows the service alone sends each report as an OTLP log
record (scope `otel_attrib.watch`, event `otel_attrib.report`), which a view turns into a row.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import pyarrow as pa

from otel_attrib.errors import StoreError
from otel_attrib.schema.service import service_status
from otel_attrib.schema.store import Store

__all__ = ["ReportRow", "into_receiver", "into_store"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")
WORDS = ("incident", "state", "service", "model", "metric", "verdict", "layer", "report", "hash")
SCOPE, EVENT = "otel_attrib.watch", "otel_attrib.report"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of `reports`."""

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


def into_store(store: Store) -> Callable[[ReportRow], None]:
    """Return a way to write to a store that may be written to."""
    return lambda row: store.insert_arrow("reports", _table(row))


def into_receiver(url: str) -> Callable[[ReportRow], None]:
    """Return a way to write through the OTLP receiver of the service at `url`."""
    address = str(service_status(url).get("otlp_http", "")).rstrip("/")
    if not address:
        raise StoreError(f"the service at {url} names no OTLP address: give --dsn to keep reports")
    return lambda row: _send(f"{address}/v1/logs", _logs(row))


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


def _logs(row: ReportRow) -> dict[str, Any]:
    """Return an OTLP/JSON body of one record."""
    words: dict[str, str] = {name: getattr(row, name) for name in WORDS if name != "report"}
    words |= {
        "onset_us": str(_microseconds(row.onset)),
        "quantile": repr(row.quantile),
        "where": json.dumps(row.where, ensure_ascii=False),
        "delta_ms": "" if row.delta_ms is None else repr(row.delta_ms),
    }
    record = {
        "timeUnixNano": str(_microseconds(row.time) * 1000),
        "severityText": "WARN",
        "eventName": EVENT,
        "body": {"stringValue": row.report},
        "attributes": _attributes(words),
    }
    resource = {"attributes": _attributes({"service.name": row.service})}
    scope_logs = [{"scope": {"name": SCOPE}, "logRecords": [record]}]
    return {"resourceLogs": [{"resource": resource, "scopeLogs": scope_logs}]}


def _attributes(words: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in words.items()]


def _microseconds(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def _send(address: str, body: dict[str, Any], timeout_s: float = 10.0) -> None:
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    # A proxy set for the internet must not be asked for this machine.
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=timeout_s) as answer:
            answer.read()
    except (URLError, OSError) as fault:
        raise StoreError(f"the receiver at {address} did not take the report: {fault}") from fault
