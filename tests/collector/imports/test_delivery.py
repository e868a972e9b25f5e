"""Requests reach a running service, which may be full for a while, and refusals are told."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_attrib.collector.imports.delivery import ServiceDelivery
from otel_attrib.collector.signals import TRACES
from otel_attrib.errors import DataError, StoreError

BODY = (Path(__file__).parents[2] / "fixtures/engine_captures/sglang_otlp_001.pb").read_bytes()
STORE: Any = None


class Service:
    """A service that answers posts with the given codes in turn, then 200, and counts its spool down."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.codes: list[int] = []
        self.rejected = 0
        self.waiting = 0
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                counters = {'spool_items{signal="traces"}': service.waiting} if service.waiting else {}
                service.waiting = max(0, service.waiting - 1)
                status = {"clickhouse": service.url, "otlp_http": service.url, "counters": counters}
                self.answer(200, json.dumps(status).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.headers.append(dict(self.headers))
                code = service.codes.pop(0) if service.codes else 200
                if code == 200:
                    service.bodies.append(gzip.decompress(body))
                response = ExportTraceServiceResponse()
                response.partial_success.rejected_spans = service.rejected
                self.answer(code, response.SerializeToString() if code == 200 else b"no room")

            def answer(self, code: int, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                if code == 503:
                    self.send_header("Retry-After", "7")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        """Close the port."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    """A running service."""
    found = Service()
    yield found
    found.stop()


def test_a_request_arrives_as_it_is(service: Service) -> None:
    """The body is posted gzipped to the signal's path, and partial success is counted."""
    service.rejected = 2

    assert 2 == ServiceDelivery(service.url, STORE).send(TRACES, BODY)
    assert [BODY] == service.bodies
    assert "application/x-protobuf" == service.headers[0]["Content-Type"]
    assert "Authorization" not in service.headers[0]


def test_token(service: Service) -> None:
    """The bearer token of the settings is sent along."""
    ServiceDelivery(service.url, STORE, token="t0p").send(TRACES, BODY)

    assert "Bearer t0p" == service.headers[0]["Authorization"]


def test_a_full_service_is_waited_for(service: Service) -> None:
    """503 and 429 are waited out as long as they ask, then the request is sent again."""
    slept: list[float] = []
    service.codes = [503, 429]
    ServiceDelivery(service.url, STORE, sleep=slept.append).send(TRACES, BODY)

    assert [7.0, 1.0] == slept
    assert [BODY] == service.bodies


def test_patience_ends(service: Service) -> None:
    """A service that stays full is a StoreError with what it said."""
    service.codes = [503] * 100

    with pytest.raises(StoreError, match="503.*no room"):
        ServiceDelivery(service.url, STORE, sleep=lambda seconds: None).send(TRACES, BODY)


@pytest.mark.parametrize(("code", "fault"), [(400, DataError), (401, StoreError), (413, DataError)])
def test_refused_for_good(service: Service, code: int, fault: type[Exception]) -> None:
    """Other refusals are not tried again."""
    service.codes = [code]

    with pytest.raises(fault, match=f"answered {code}"):
        ServiceDelivery(service.url, STORE).send(TRACES, BODY)
    assert [] == service.bodies


def test_finish_waits_for_the_spool(service: Service) -> None:
    """An import ends when what it sent has left the spool."""
    slept: list[float] = []
    delivery = ServiceDelivery(service.url, STORE, sleep=slept.append)
    service.waiting = 3
    delivery.finish()

    assert 3 == len(slept)


def test_nobody_there(service: Service) -> None:
    """A receiver that is gone is a StoreError with its address."""
    delivery = ServiceDelivery(service.url, STORE)
    service.server.server_close()

    with pytest.raises(StoreError, match="http://127.0.0.1"):
        delivery.send(TRACES, BODY)
