"""OTLP over gRPC: every code the specification asks for, each beside a good neighbour."""

import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.signals import LOGS, METRICS, SIGNALS, TRACES, Signal

# Not typed: conftest modules cannot be imported.
Service = Any
Serve = Callable[..., Service]
BODIES: dict[str, Callable[[int], Any]] = {
    "traces": bodies.traces,
    "metrics": bodies.metrics,
    "logs": bodies.logs,
}


def call(
    service: Service,
    body: bytes,
    method: str = TRACES.method,
    compression: grpc.Compression = grpc.Compression.NoCompression,
    **metadata: str,
) -> bytes:
    """Send one message."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}", options, compression) as channel:
        export: Any = channel.unary_unary(method)
        answer: bytes = export(body, timeout=30, metadata=tuple(metadata.items()))
        return answer


def refused(service: Service, body: bytes, **given: Any) -> Any:
    """Send one message that is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        call(service, body, **given)
    return caught.value


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_accepted(service: Service, signal: Signal) -> None:
    """OK, an empty response, and the very bytes in the spool."""
    body = BODIES[signal.name](3).SerializeToString()

    assert b"" == call(service, body, signal.method)
    assert [body] == service.kept
    assert 3.0 == service.total("accepted_items_total", signal=signal.name)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed(service: Service, compression: grpc.Compression) -> None:
    """The spool holds what was compressed."""
    body = bodies.traces(50).SerializeToString()
    call(service, body, compression=compression)

    assert [body] == service.kept


def test_empty_request(service: Service) -> None:
    """Nothing to keep is success."""
    assert b"" == call(service, b"")
    assert [] == service.kept


BAD = {
    "truncated": (
        bodies.traces(5, first=10**6).SerializeToString()[:-3],
        "NoCompression",
        "INVALID_ARGUMENT",
    ),
    "garbage": (b"\xff\xfe\xfd\xfc" * 10, "NoCompression", "INVALID_ARGUMENT"),
    "not gzip": (b"\x1f\x8bplain", "NoCompression", "INVALID_ARGUMENT"),
    "gzip bomb": (bytes(80 << 20), "Gzip", "RESOURCE_EXHAUSTED"),
    "too large": (bytes((64 << 20) + 1), "NoCompression", "RESOURCE_EXHAUSTED"),
}


@pytest.mark.parametrize(("body", "compression", "code"), BAD.values(), ids=BAD)
def test_bad_message(service: Service, body: bytes, compression: str, code: str) -> None:
    """The right code, not to be tried again; a neighbour on another channel is kept."""
    fault = refused(service, body, compression=grpc.Compression[compression])
    neighbour = bodies.traces(2).SerializeToString()

    assert code == fault.code().name
    assert fault.details()
    assert "google.rpc.retryinfo-bin" not in dict(fault.trailing_metadata())
    assert b"" == call(service, neighbour)
    assert [neighbour] == service.kept


def test_bomb_is_not_expanded(service: Service) -> None:
    """600 MiB of zeros in 3 MiB cost the limit's memory, not their own."""
    before = _resident()
    fault = refused(service, _bomb(), compression=grpc.Compression.NoCompression)

    assert "RESOURCE_EXHAUSTED" == fault.code().name
    assert _resident() - before < 200 << 20


def _bomb() -> bytes:
    """A gzip of 600 MiB of zeros, made without holding them."""
    engine, zeros = zlib.compressobj(1, wbits=31), bytes(1 << 20)
    return b"".join(engine.compress(zeros) for _ in range(600)) + engine.flush()


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_unknown_method(service: Service) -> None:
    """A service that is not ours is UNIMPLEMENTED."""
    method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

    assert grpc.StatusCode.UNIMPLEMENTED == refused(service, b"", method=method).code()


def test_partial_success(service: Service) -> None:
    """A bad span is taken out and told; the good one is kept."""
    request = bodies.traces(2)
    request.resource_spans[0].scope_spans[0].spans[0].trace_id = b""
    response = ExportTraceServiceResponse.FromString(call(service, request.SerializeToString()))

    assert 1 == response.partial_success.rejected_spans
    assert 1.0 == service.total("accepted_items_total", signal="traces")


@pytest.mark.parametrize(
    ("authorization", "code"),
    [("", "UNAUTHENTICATED"), ("Bearer wrong", "UNAUTHENTICATED"), ("Bearer s3cret", "OK")],
)
def test_token(serve: Serve, authorization: str, code: str) -> None:
    """With a token configured, only those who carry it are heard."""
    service = serve(otlp_token="s3cret")
    body = bodies.traces().SerializeToString()
    if code == "OK":
        assert b"" == call(service, body, authorization=authorization)
    else:
        assert code == refused(service, body, authorization=authorization).code().name


def test_full_spool(serve: Serve) -> None:
    """UNAVAILABLE with a RetryInfo, in both places where clients look for it."""
    service = serve(spool_limit=1500)
    fault = refused(service, bodies.traces(40).SerializeToString())
    metadata = dict(fault.trailing_metadata())
    status = Status.FromString(metadata["grpc-status-details-bin"])
    packed = RetryInfo()

    assert grpc.StatusCode.UNAVAILABLE == fault.code()
    assert status.details[0].Unpack(packed)
    assert 5 == packed.retry_delay.seconds
    assert packed == RetryInfo.FromString(metadata["google.rpc.retryinfo-bin"])
    assert b"" == call(service, bodies.traces().SerializeToString())


def test_too_much_at_once(serve: Serve) -> None:
    """RESOURCE_EXHAUSTED with a RetryInfo, which makes it one to try again."""
    fault = refused(serve(otlp_in_flight=5000), bytes(6000))

    assert grpc.StatusCode.RESOURCE_EXHAUSTED == fault.code()
    assert "google.rpc.retryinfo-bin" in dict(fault.trailing_metadata())


def test_many_channels(service: Service) -> None:
    """Sixteen channels with ten requests each, some bad: every good one is kept once."""
    from concurrent.futures import ThreadPoolExecutor

    good = [[bodies.traces(3).SerializeToString() for _ in range(10)] for _ in range(16)]

    def send(requests: list[bytes]) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
            export: Any = channel.unary_unary(TRACES.method)
            for request in requests:
                export(request, timeout=30)
                with pytest.raises(grpc.RpcError):
                    export(request[:-1], timeout=30)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(send, good))

    assert sorted(request for requests in good for request in requests) == sorted(service.kept)


def test_client_gives_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose client no longer waits is kept and counted like any other."""
    sync, synced = os.fdatasync, threading.Event()

    def slow(fd: int) -> None:
        synced.wait(5)
        sync(fd)

    service = serve()
    monkeypatch.setattr(os, "fdatasync", slow)
    body = bodies.traces().SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        export: Any = channel.unary_unary(TRACES.method)
        with pytest.raises(grpc.RpcError, match="Deadline"):
            export(body, timeout=0.5)
    synced.set()

    assert [body] == service.kept
    assert 1.0 == service.total("accepted_requests_total", signal="traces")
    assert 1.0 == service.total("received_requests_total", signal="traces", transport="grpc")


def test_metrics_and_logs_have_their_own_words(service: Service) -> None:
    """What is rejected is told in the signal's own field."""
    metrics, logs = bodies.metrics(2), bodies.logs(2)
    metrics.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0].time_unix_nano = 1 << 63
    logs.resource_logs[0].scope_logs[0].log_records[1].span_id = b"odd"
    answers = [
        signal.response().FromString(call(service, request.SerializeToString(), signal.method))
        for signal, request in ((METRICS, metrics), (LOGS, logs))
    ]

    assert 1 == answers[0].partial_success.rejected_data_points
    assert "a time past the year 2262" in answers[0].partial_success.error_message
    assert 1 == answers[1].partial_success.rejected_log_records
