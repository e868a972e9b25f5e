"""OTLP over HTTP: every status the specification asks for, each beside a good neighbour."""

import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector import receiver
from otel_attrib.collector.validate import check

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
# Not typed: conftest modules cannot be imported.
Service = Any
Serve = Callable[..., Service]


def post(service: Service, body: bytes, path: str = "/v1/traces", **headers: str) -> httpx.Response:
    """Send one body."""
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    return httpx.post(service.url + path, content=body, headers={**PROTOBUF, **given}, timeout=20)


def status(response: httpx.Response) -> Status:
    """The google.rpc.Status of an answer."""
    assert "application/x-protobuf" == response.headers["content-type"]
    return Status.FromString(response.content)


@pytest.mark.parametrize(
    ("path", "make", "response_type"),
    [
        ("/v1/traces", bodies.traces, ExportTraceServiceResponse),
        ("/v1/metrics", bodies.metrics, ExportMetricsServiceResponse),
        ("/v1/logs", bodies.logs, ExportLogsServiceResponse),
    ],
    ids=["traces", "metrics", "logs"],
)
def test_accepted(service: Service, path: str, make: Callable[[int], Any], response_type: Any) -> None:
    """200, an empty response of the right type, and the very bytes in the spool."""
    body = make(3).SerializeToString()
    response = post(service, body, path)

    assert (200, "application/x-protobuf") == (response.status_code, response.headers["content-type"])
    assert not response_type.FromString(response.content).HasField("partial_success")
    assert [body] == service.kept
    assert 3.0 == service.total("accepted_items_total", signal=path[4:])


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes), ("GZIP", gzip.compress)],
)
def test_compressed(service: Service, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """The spool holds what was compressed."""
    body = bodies.traces(50).SerializeToString()

    assert 200 == post(service, pack(body), Content_Encoding=encoding).status_code
    assert [body] == service.kept


def test_gzip_of_several_members(service: Service) -> None:
    """A gzip stream may be several, one after the other."""
    body = bodies.traces(50).SerializeToString()

    packed = gzip.compress(body[:100]) + gzip.compress(body[100:])
    assert 200 == post(service, packed, Content_Encoding="gzip").status_code
    assert [body] == service.kept


@pytest.mark.parametrize("body", [b"", b"\x0a\x00"], ids=["no bytes", "a resource without spans"])
def test_empty_request_is_success(service: Service, body: bytes) -> None:
    """Nothing to keep is no fault."""
    response = post(service, body)

    assert (200, b"") == (response.status_code, response.content)
    assert [] == service.kept


BOMB = gzip.compress(bytes(80 << 20))
BAD = {
    "truncated": (bodies.traces(5, first=10**6).SerializeToString()[:-3], {}, 400, 3),
    "garbage": (b"\xff\xfe\xfd\xfc" * 10, {}, 400, 3),
    "bad UTF-8": (
        bodies.traces(1, first=10**6, name="XY").SerializeToString().replace(b"XY", b"\xff\xff"),
        {},
        400,
        3,
    ),
    "JSON as Protobuf": (b'{"resourceSpans":[]}', {}, 400, 3),
    "not gzip": (b"plain", {"Content_Encoding": "gzip"}, 400, 3),
    "truncated gzip": (gzip.compress(bytes(1000))[:-9], {"Content_Encoding": "gzip"}, 400, 3),
    "garbage after gzip": (gzip.compress(b"") + b"more", {"Content_Encoding": "gzip"}, 400, 3),
    "gzip bomb": (BOMB, {"Content_Encoding": "gzip"}, 413, 8),
    "zstd": (b"x", {"Content_Encoding": "zstd"}, 415, 12),
}


@pytest.mark.parametrize(("body", "headers", "code", "rpc"), BAD.values(), ids=BAD)
def test_bad_body(service: Service, body: bytes, headers: dict[str, str], code: int, rpc: int) -> None:
    """The right status with a Status body; a neighbour on another connection is kept."""
    response = post(service, body, **headers)
    neighbour = bodies.traces(2).SerializeToString()

    assert code == response.status_code
    assert rpc == status(response).code
    assert status(response).message
    assert "retry-after" not in response.headers
    assert 200 == post(service, neighbour).status_code
    assert [neighbour] == service.kept


def test_too_large_by_length(serve: Serve) -> None:
    """A body beyond the limit is refused, and the client that sent all of it gets the answer."""
    service = serve(otlp_limit=10_000)
    response = post(service, bytes(15_000))

    assert (413, 8) == (response.status_code, status(response).code)
    assert "10000 bytes" in status(response).message
    assert 1.0 == service.total("refused_requests_total", signal="traces", reason="too_large")


def test_too_large_in_chunks(serve: Serve) -> None:
    """A body of no stated length is refused where it passes the limit."""
    service = serve(otlp_limit=10_000)
    response = httpx.post(
        f"{service.url}/v1/traces", content=(bytes(1000) for _ in range(15)), headers=PROTOBUF
    )

    assert 413 == response.status_code


def test_json_has_a_limit_of_its_own(serve: Serve) -> None:
    """JSON takes many times its size while it is read, so less of it is taken."""
    service = serve(otlp_json_limit=1000)
    body = b'{"resourceSpans": []}'.ljust(1001)
    codes = [
        httpx.post(f"{service.url}/v1/traces", content=sent, headers=JSON).status_code
        for sent in (body, body[:-1])
    ]

    assert [413, 200] == codes


def test_too_many_items(serve: Serve) -> None:
    """A request of more items than allowed is refused for good, and the text names the setting."""
    service = serve(otlp_items=2000)
    codes = [post(service, bodies.traces(count).SerializeToString()).status_code for count in (2000, 2001)]
    refused = post(service, bodies.traces(2001).SerializeToString())

    assert [200, 413] == codes
    assert "otlp_items" in status(refused).message


def test_large_requests_leave_the_event_loop(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long to read is read beside the loop that serves all ports, Protobuf like JSON."""
    threads = []

    def noted(*args: Any) -> Any:
        threads.append(threading.current_thread())
        return check(*args)

    monkeypatch.setattr(receiver, "check", noted)
    large = bodies.traces(5000)
    for count, body in ((1, bodies.traces(1)), (5000, large)):
        assert 200 == post(service, body.SerializeToString()).status_code, count
    document = json.dumps({"resourceSpans": []}).ljust(1 << 17)
    assert 200 == httpx.post(f"{service.url}/v1/traces", content=document, headers=JSON).status_code

    assert [True, False, False] == [thread is service.thread for thread in threads]


def test_largest_allowed(serve: Serve) -> None:
    """The limit itself is allowed, compressed or not."""
    body = bodies.traces(100).SerializeToString()
    service = serve(otlp_limit=len(body))

    assert 200 == post(service, body).status_code
    assert 200 == post(service, gzip.compress(body), Content_Encoding="gzip").status_code


@pytest.mark.parametrize(
    ("method", "path", "content_type", "code", "header"),
    [
        ("GET", "/v1/traces", "", 405, ("allow", "POST")),
        ("PUT", "/v1/traces", "application/json", 405, ("allow", "POST")),
        ("POST", "/v1/profiles", "application/json", 404, None),
        ("POST", "/", "application/json", 404, None),
        ("POST", "/v1/traces", "text/plain", 415, None),
        ("POST", "/v1/traces", "", 415, None),
    ],
)
def test_wrong_request(
    service: Service, method: str, path: str, content_type: str, code: int, header: tuple[str, str] | None
) -> None:
    """Method, path and type are told with a Status in JSON."""
    response = httpx.request(method, service.url + path, content=b"x", headers={"Content-Type": content_type})

    assert (code, "application/json") == (response.status_code, response.headers["content-type"])
    assert response.json()["message"]
    assert header is None or header[1] == response.headers[header[0]]


def test_partial_success(service: Service) -> None:
    """Two bad spans are taken out and counted by reason; the good one is kept."""
    request = bodies.traces(3)
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[0].trace_id = b"short"
    spans[2].span_id = bytes(8)
    response = ExportTraceServiceResponse.FromString(post(service, request.SerializeToString()).content)

    assert 2 == response.partial_success.rejected_spans
    assert "1 with a trace_id that is not 16 bytes" in response.partial_success.error_message
    assert "1 with a span_id that is not 8 bytes" in response.partial_success.error_message
    (kept,) = service.kept
    ids = [
        span.trace_id
        for span in ExportTraceServiceRequest.FromString(kept).resource_spans[0].scope_spans[0].spans
    ]
    assert [bytes(spans[1].trace_id)] == ids
    assert 2.0 == service.total("rejected_items_total", signal="traces")


def test_json(service: Service) -> None:
    """JSON in, JSON out; the spool holds the same request as Protobuf."""
    number = 10**7
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "tests"}}]},
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": bodies.trace_id(number).hex().upper(),
                                "spanId": number.to_bytes(8, "big").hex(),
                                "name": "work",
                                "kind": 2,
                                "startTimeUnixNano": str(1_760_000_000_000_000_000 + number),
                                "endTimeUnixNano": 1_760_000_000_000_001_000 + number,
                                "somethingNew": {"a": [1]},
                            }
                        ]
                    }
                ],
            }
        ]
    }
    response = httpx.post(
        f"{service.url}/v1/traces",
        content=json.dumps(document),
        headers={"Content-Type": "application/json; charset=utf-8"},
    )

    assert (200, "application/json", {}) == (
        response.status_code,
        response.headers["content-type"],
        response.json(),
    )
    (kept,) = service.kept
    assert bodies.traces(1, first=number) == ExportTraceServiceRequest.FromString(kept)


def test_json_partial_success(service: Service) -> None:
    """In JSON the count is a string, as Protobuf's 64-bit numbers are."""
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "abcd"}]}]}]}
    response = httpx.post(f"{service.url}/v1/logs", json=document)

    assert "1" == response.json()["partialSuccess"]["rejectedLogRecords"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"resourceSpans": 3}', b'{"resourceSpans": [3]}', b"[" * 100_000],
    ids=["empty", "list", "cut", "number", "list of numbers", "deep"],
)
def test_bad_json(service: Service, body: bytes) -> None:
    """What is no OTLP in JSON is 400 with a Status in JSON."""
    response = httpx.post(f"{service.url}/v1/traces", content=body, headers=JSON)

    assert (400, 3) == (response.status_code, response.json()["code"])
    assert "OTLP traces" in response.json()["message"]


def test_repeated_request(service: Service) -> None:
    """The same bytes again are acknowledged and not stored again."""
    body = bodies.traces(2).SerializeToString()
    codes = [post(service, body).status_code for _ in range(3)]

    assert [200, 200, 200] == codes
    assert [body] == service.kept
    assert 2.0 == service.total("duplicate_requests_total", signal="traces")


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        ("Basic czNjcmV0", 401),
        ("Bearer s3cret", 200),
        ("bearer s3cret", 200),
    ],
)
def test_token(serve: Serve, header: str | None, code: int) -> None:
    """With a token configured, only those who carry it are heard."""
    service = serve(otlp_token="s3cret")
    headers = {"Authorization": header} if header else {}
    response = post(service, bodies.traces().SerializeToString(), **headers)

    assert code == response.status_code
    assert code == 200 or "Bearer" == response.headers["www-authenticate"]


def test_full_spool(serve: Serve) -> None:
    """503 with Retry-After and a RetryInfo; accepted again once there is room."""
    service = serve(spool_limit=1500)
    large, small = bodies.traces(40).SerializeToString(), bodies.traces(1).SerializeToString()
    response = post(service, large)

    assert (503, "5", 14) == (
        response.status_code,
        response.headers["retry-after"],
        status(response).code,
    )
    assert ["type.googleapis.com/google.rpc.RetryInfo"] == [d.type_url for d in status(response).details]
    assert 200 == post(service, small).status_code


def test_too_much_at_once(serve: Serve) -> None:
    """429 with Retry-After while other requests hold all the room there is for unanswered ones."""
    service = serve(otlp_in_flight=5000)
    response = post(service, bytes(6000))

    assert (429, "1", 8) == (response.status_code, response.headers["retry-after"], status(response).code)
    assert 200 == post(service, bodies.traces().SerializeToString()).status_code
    assert "in_flight_bytes" not in service.counters.totals()


def test_slow_client(serve: Serve) -> None:
    """A client that stops sending is told so; a neighbour is not held up meanwhile."""
    service = serve(otlp_timeout=0.3)
    with socket.create_connection(("127.0.0.1", service.http_port)) as slow:
        slow.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 1000\r\n\r\nabc"
        )
        assert 200 == post(service, bodies.traces().SerializeToString()).status_code
        slow.settimeout(10)
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_client_gone(service: Service) -> None:
    """A client that breaks off in the middle leaves nothing behind."""
    with socket.create_connection(("127.0.0.1", service.http_port)) as gone:
        gone.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 1000\r\n\r\nabc"
        )
    body = bodies.traces().SerializeToString()

    assert 200 == post(service, body).status_code
    assert [body] == service.kept
    assert "in_flight_bytes" not in service.counters.totals()
    assert 1.0 == service.total("refused_requests_total", signal="traces", reason="disconnected")


def test_stopping(service: Service) -> None:
    """While the service stops, clients are told to come again."""
    service.receiver.stop()
    response = post(service, bodies.traces().SerializeToString())

    assert (503, "1") == (response.status_code, response.headers["retry-after"])


def test_cors(serve: Serve) -> None:
    """Browsers of the configured origin may post, others may not; without configuration nobody may."""
    service = serve(cors_origins=("https://app.example",))
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}

    def preflight(origin: str) -> httpx.Response:
        return httpx.options(f"{service.url}/v1/traces", headers={"Origin": origin, **asked})

    assert "https://app.example" == preflight("https://app.example").headers["access-control-allow-origin"]
    assert "access-control-allow-origin" not in preflight("https://other.example").headers


def test_no_cors(service: Service) -> None:
    """Without configured origins there are no CORS headers at all."""
    response = httpx.options(f"{service.url}/v1/traces", headers={"Origin": "https://app.example"})

    assert 405 == response.status_code
    assert "access-control-allow-origin" not in response.headers
