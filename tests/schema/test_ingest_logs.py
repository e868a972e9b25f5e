"""Log records arrive with the values that were sent."""

from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber

from otel_attrib.schema.ingest import insert_logs
from otel_attrib.schema.store import Store

NOON_NS = 1_767_268_800_000_000_000
STORED = "SELECT * EXCEPT Timestamp, toUnixTimestamp64Nano(Timestamp) AS at FROM otel_logs ORDER BY at"


def request(**fields: Any) -> bytes:
    """One export request with one record."""
    message = ExportLogsServiceRequest()
    part = message.resource_logs.add(schema_url="https://r")
    part.resource.attributes.append(pair("service.name", "svc"))
    group = part.scope_logs.add(schema_url="https://s")
    group.scope.name, group.scope.version = "lib", "2"
    group.scope.attributes.append(pair("scope", "yes"))
    group.log_records.append(LogRecord(**{"time_unix_nano": NOON_NS, **fields}))
    return message.SerializeToString()


def pair(key: str, text: str) -> KeyValue:
    """A text attribute."""
    return KeyValue(key=key, value=AnyValue(string_value=text))


def test_every_column(store: Store) -> None:
    """A full record fills every column."""
    body = request(
        observed_time_unix_nano=NOON_NS + 5,
        severity_number=SeverityNumber.SEVERITY_NUMBER_WARN,
        severity_text="WARN",
        body=AnyValue(string_value="late"),
        attributes=[pair("a", "1")],
        flags=257,
        trace_id=b"\x01" * 16,
        span_id=b"\x02" * 8,
        event_name="token.late",
    )
    insert_logs(store, [body], token="t")

    assert [
        {
            "at": NOON_NS,
            "TraceId": "01" * 16,
            "SpanId": "02" * 8,
            "TraceFlags": 1,
            "SeverityText": "WARN",
            "SeverityNumber": 13,
            "ServiceName": "svc",
            "Body": "late",
            "ResourceSchemaUrl": "https://r",
            "ResourceAttributes": {"service.name": "svc"},
            "ScopeSchemaUrl": "https://s",
            "ScopeName": "lib",
            "ScopeVersion": "2",
            "ScopeAttributes": {"scope": "yes"},
            "LogAttributes": {"a": "1"},
            "EventName": "token.late",
        }
    ] == store.rows(STORED)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (AnyValue(int_value=0), "0"),
        (AnyValue(bool_value=False), "false"),
        (AnyValue(bytes_value=b"ab\x00"), "YWIA"),
        (AnyValue(kvlist_value=KeyValueList(values=[pair("k", "v")])), '{"k":"v"}'),
        (AnyValue(), ""),
    ],
    ids=["int", "bool", "bytes", "map", "unset"],
)
def test_body(store: Store, body: AnyValue, expected: str) -> None:
    """A body that is no text becomes one."""
    insert_logs(store, [request(body=body)], token="t")

    assert [expected] == [row["Body"] for row in store.rows(STORED)]


def test_times_and_severities(store: Store) -> None:
    """Without a time of its own a record has the one when it was seen; an unknown severity is none."""
    odd = LogRecord.FromString(b"\x10\xc8\x01")  # severity_number 200
    bodies = [
        request(time_unix_nano=0, observed_time_unix_nano=7),
        request(severity_number=odd.severity_number),
    ]
    insert_logs(store, bodies, token="t")
    insert_logs(store, bodies, token="t")

    assert [(7, 0), (NOON_NS, 0)] == [(row["at"], row["SeverityNumber"]) for row in store.rows(STORED)]
