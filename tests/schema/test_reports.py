"""Reports of the watch come back from the store as they were, whichever way they went in."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from otel_attrib.errors import StoreError
from otel_attrib.schema.ingest import insert_logs
from otel_attrib.schema.reports import ReportRow, into_receiver, into_store
from otel_attrib.schema.store import Store

ROW = ReportRow(
    time=datetime(2026, 5, 1, 12, 0, 0, 250_000, UTC),
    incident="0123456789abcdef",
    state="open",
    onset=datetime(2026, 5, 1, 11, 59, 48, 500, UTC),
    service="chat",
    model="llama-8b",
    metric="ttft",
    quantile=0.99,
    where={"service": "chat", "tenant": "größer"},
    verdict="CAUSE",
    layer="gpu",
    delta_ms=459.3,
    report='{"schema": "otel-attrib/why/1"}',
    hash="f" * 64,
)
UNKNOWN = ReportRow(**{**{name: getattr(ROW, name) for name in ROW.__slots__}, "delta_ms": None})


class Receiver(BaseHTTPRequestHandler):
    """Says where it is, and keeps what it is sent."""

    kept: list[bytes] = []

    def do_GET(self) -> None:
        """Answer as the service's status page does."""
        here = f"http://{self.headers['Host']}"
        self._answer(json.dumps({"clickhouse": here, "otlp_http": here}).encode())

    def do_POST(self) -> None:
        """Take logs."""
        Receiver.kept.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(b"{}")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a receiver."""
    Receiver.kept.clear()
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def stored(store: Store) -> ReportRow:
    """The one row of `reports`."""
    (row,) = store.rows("SELECT * FROM reports")
    return ReportRow(**row)


@pytest.mark.parametrize("row", [ROW, UNKNOWN], ids=["known", "unknown change"])
def test_into_the_store(store: Store, row: ReportRow) -> None:
    """What is written to the table is read from it."""
    into_store(store)(row)

    assert row == stored(store)


@pytest.mark.parametrize("row", [ROW, UNKNOWN], ids=["known", "unknown change"])
def test_through_the_receiver(store: Store, receiver: str, row: ReportRow) -> None:
    """What is sent as a log record arrives in the table as the same row, and as a log."""
    into_receiver(receiver)(row)
    (body,) = Receiver.kept
    insert_logs(store, [Parse(body, ExportLogsServiceRequest()).SerializeToString()], token="t")

    assert row == stored(store)
    assert [{"n": 1}] == store.rows("SELECT count() AS n FROM otel_logs WHERE ServiceName = 'chat'")


def test_other_logs_are_no_reports(store: Store) -> None:
    """A log record of anybody else makes no row."""
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add()
    record.event_name = "otel_attrib.report"

    insert_logs(store, [message.SerializeToString()], token="u")

    assert [] == store.rows("SELECT * FROM reports")


def test_a_receiver_that_is_gone() -> None:
    """A report that nobody takes is a fault of one line that names the address."""
    with pytest.raises(StoreError, match="no service answers at http://127.0.0.1:9"):
        into_receiver("http://127.0.0.1:9")
