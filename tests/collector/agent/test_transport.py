"""Requests over real sockets: to our receiver, and to servers that answer as a collector in trouble does."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_attrib.collector.agent.destination import Destination
from otel_attrib.collector.agent.encode import Encoder
from otel_attrib.collector.agent.source import series
from otel_attrib.collector.agent.transport import Answer, GrpcTransport, HttpTransport, Transport, transport
from otel_attrib.testing_agent import readings_of

# Not typed: conftest modules cannot be imported.
Service = Any


def body(value: float = 1.0) -> bytes:
    """A request of one reading."""
    batch = 1_760_000_000_000_000_000, readings_of([(series("gpu_clock", "0"), value)])
    ((made, _),) = Encoder({"host.name": "n"}).requests([batch])
    return made


def way(service: Service, protocol: str, **more: Any) -> Transport:
    """A transport to a running receiver."""
    if protocol == "grpc":
        return transport(Destination(f"http://127.0.0.1:{service.grpc_port}", "grpc", **more))
    return transport(Destination(f"{service.url}/v1/metrics", "http/protobuf", **more))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_our_receiver_keeps_what_is_sent(service: Service, protocol: str, packed: bool) -> None:
    """Five different requests arrive as the bytes that they were."""
    to, bodies = way(service, protocol, gzip=packed), [body(n) for n in range(5)]
    answers = [to.send(each) for each in bodies]
    to.close()

    assert 5 * [Answer()] == answers
    assert bodies == service.kept


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_token_is_sent(serve: Callable[..., Service], protocol: str) -> None:
    """With the bearer header requests are taken, without it they are refused for good."""
    service = serve(otlp_token="secret")
    good = way(service, protocol, headers={"authorization": "Bearer secret"})
    bad = way(service, protocol)
    kept, refused = good.send(body()), bad.send(body())
    good.close()
    bad.close()

    assert Answer() == kept
    assert (False, False) == (refused.kept, refused.again)
    assert "401" in refused.why or "UNAUTHENTICATED" in refused.why


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_nobody_there(protocol: str) -> None:
    """A refused connection is to be tried again."""
    url = "http://127.0.0.1:9" + ("" if protocol == "grpc" else "/v1/metrics")
    to = transport(Destination(url, protocol, timeout_s=2.0))  # type: ignore[arg-type] # one of the two
    answer = to.send(body())
    to.close()

    assert (True, False) == (answer.again, answer.kept)
    assert answer.why


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_stopping_service_asks_to_wait(service: Service, protocol: str) -> None:
    """503 with Retry-After, or UNAVAILABLE with RetryInfo: again, after the second that it asks for."""
    service.receiver.stop()
    to = way(service, protocol)
    answer = to.send(body())
    to.close()

    assert (True, 1.0, False) == (answer.again, answer.wait_s, answer.kept)


class Collector(ThreadingHTTPServer):
    """Answers as `plan` says, one entry a request: status, headers, body; a stand-in for a collector."""

    daemon_threads = True

    def __init__(self) -> None:
        """On a free port."""
        self.plan: list[tuple[int, dict[str, str], bytes]] = []
        self.seen: list[bytes] = []
        self.connections = 0
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Collector

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        self.server.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        status, headers, said = self.server.plan.pop(0)
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    """One on a free port."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def to_collector(server: Collector) -> HttpTransport:
    """The way there."""
    return HttpTransport(Destination(f"http://127.0.0.1:{server.server_port}/v1/metrics", "http/protobuf"))


@pytest.mark.parametrize(
    ("status", "headers", "again", "wait_s"),
    [
        (503, {"Retry-After": "7"}, True, 7.0),
        (429, {}, True, None),
        (502, {}, True, None),
        (504, {"Retry-After": "soon"}, True, None),
        (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, True, 0.0),
        (429, {"Retry-After": "nan"}, True, None),
        (429, {"Retry-After": "inf"}, True, None),
        (429, {"Retry-After": "-5"}, True, None),
        (400, {"Retry-After": "7"}, False, None),
        (404, {}, False, None),
        (500, {}, False, None),
    ],
    ids=[
        "wait 7 s",
        "429",
        "502",
        "no time",
        "a date gone by",
        "nan",
        "inf",
        "negative",
        "400",
        "404",
        "500",
    ],
)
def test_statuses(
    collector: Collector, status: int, headers: dict[str, str], again: bool, wait_s: float | None
) -> None:
    """Only what OTLP says may pass is tried again, after what Retry-After says."""
    collector.plan = [(status, headers, b"")]
    to = to_collector(collector)
    answer = to.send(b"x")
    to.close()

    assert (again, wait_s, False) == (answer.again, answer.wait_s, answer.kept)
    assert answer.why.startswith(f"HTTP {status}")


def test_partial_success(collector: Collector) -> None:
    """Rejected points are told from kept ones, with the reason."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

    said = ExportMetricsServiceResponse()
    said.partial_success.rejected_data_points, said.partial_success.error_message = 3, "too old"
    collector.plan = [(200, {}, said.SerializeToString()), (200, {}, b"ok, thanks")]
    to = to_collector(collector)
    answers = [to.send(b"x"), to.send(b"y")]
    to.close()

    assert [Answer(rejected=3, why="too old"), Answer()] == answers


def test_one_connection_is_kept(collector: Collector) -> None:
    """Requests share a connection; one that the collector has closed is made anew without a fault."""
    collector.plan = [(200, {}, b""), (200, {"Connection": "close"}, b""), (200, {}, b"")]
    to = to_collector(collector)
    answers = [to.send(b"1"), to.send(b"2"), to.send(b"3")]
    to.close()

    assert 3 * [Answer()] == answers
    assert [b"1", b"2", b"3"] == collector.seen
    assert 2 == collector.connections


def test_an_answer_without_an_end(collector: Collector) -> None:
    """A page instead of an answer is not read to its end, and the next request has its own connection."""
    collector.plan = [(503, {}, b"x" * (8 << 20)), (200, {}, b"")]
    to = to_collector(collector)
    answers = [to.send(b"1"), to.send(b"2")]
    to.close()

    assert [True, False] == [answer.again for answer in answers]
    assert 2 == collector.connections


class Trickle(threading.Thread):
    """Answers a byte at a time, for as long as anybody listens: `head` first."""

    def __init__(self, head: bytes) -> None:
        """On a free port."""
        super().__init__(daemon=True)
        self.head = head
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/metrics"
        self.start()

    def run(self) -> None:
        """One connection."""
        connection, _ = self.listener.accept()
        with connection, suppress(OSError):
            connection.sendall(self.head)
            while True:
                connection.sendall(b"x")
                time.sleep(0.02)


HEADS = [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"]


@pytest.mark.parametrize("head", HEADS, ids=["status", "header", "body"])
def test_an_answer_that_trickles(head: bytes) -> None:
    """The timeout is of the whole request, not of each byte."""
    server = Trickle(head)
    to = HttpTransport(Destination(server.url, "http/protobuf", timeout_s=0.3))
    began = time.monotonic()
    answer = to.send(b"x")
    took = time.monotonic() - began
    to.close()
    server.listener.close()

    assert (True, False) == (answer.again, answer.kept)
    assert took < 3


def test_closing_ends_a_request(collector: Collector) -> None:
    """What is closed while a collector trickles ends there and then, not at the timeout."""
    server = Trickle(HEADS[2])
    to = HttpTransport(Destination(server.url, "http/protobuf", timeout_s=60.0))
    sending = threading.Thread(target=to.send, args=(b"x",), daemon=True)
    sending.start()
    time.sleep(0.3)
    began = time.monotonic()
    to.close()
    sending.join(10)
    server.listener.close()

    assert not sending.is_alive()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "said", [b"\x00\x01garbage\r\n\r\n", b"HTTP/1.1 503 \x1b[31m" + b"A" * 3000 + b"\r\n\r\n"]
)
def test_a_strangers_words_are_one_line(said: bytes) -> None:
    """Whatever answers, what goes to the log is one printable line of bounded length."""
    server = Trickle(said)
    to = HttpTransport(Destination(server.url, "http/protobuf", timeout_s=0.5))
    answer = to.send(b"x")
    to.close()
    server.listener.close()

    assert answer.again
    assert answer.why and answer.why.isprintable() and len(answer.why) <= 200


GRPC_CASES = {
    "UNAVAILABLE": (None, True, None),
    "RESOURCE_EXHAUSTED": (None, False, None),
    "INVALID_ARGUMENT": (None, False, None),
    "PERMISSION_DENIED": (None, False, None),
    "DATA_LOSS": (None, True, None),
    "RESOURCE_EXHAUSTED with RetryInfo": (2.5, True, 2.5),
}


@pytest.mark.parametrize("name", GRPC_CASES)
def test_grpc_codes(name: str) -> None:
    """RESOURCE_EXHAUSTED may be tried again only where the collector says when."""
    delay, again, wait_s = GRPC_CASES[name]
    code = grpc.StatusCode[name.partition(" ")[0]]

    def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
        if delay is not None:
            status = Status(code=code.value[0], message="full")
            packed = AnyMessage()
            packed.Pack(RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000)))
            status.details.append(packed)
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, "full")

    handler = grpc.method_handlers_generic_handler(
        "opentelemetry.proto.collector.metrics.v1.MetricsService",
        {"Export": grpc.unary_unary_rpc_method_handler(refuse)},
    )
    server = grpc.server(ThreadPoolExecutor(1), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    to = GrpcTransport(Destination(f"http://127.0.0.1:{port}", "grpc"))
    answer = to.send(body())
    to.close()
    server.stop(None).wait()

    assert (again, wait_s, False) == (answer.again, answer.wait_s, answer.kept)
    assert code.name in answer.why


def test_a_body_is_a_request() -> None:
    """What these tests send is what the agent sends."""
    assert 1 == len(ExportMetricsServiceRequest.FromString(body()).resource_metrics)
