"""`otel-attrib up` as its users meet it: official exporters before it, a store behind it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from otel_attrib import testing_otlp as bodies

# Not typed: conftest modules cannot be imported.
Up = Any
Start = Callable[..., Up]


@pytest.fixture(scope="module")
def service(up: Start) -> Iterator[Up]:
    """One service for the tests that leave it running."""
    started = up()
    yield started
    assert 0 == started.stop()


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run one `otel-attrib` command."""
    return subprocess.run(
        [sys.executable, "-m", "otel_attrib", *words], capture_output=True, text=True, timeout=120
    )


def post(service: Up, body: bytes, path: str = "/v1/traces") -> int:
    """Send one body over HTTP."""
    headers = {"Content-Type": "application/x-protobuf"}
    return httpx.post(service["otlp_http"] + path, content=body, headers=headers, timeout=60).status_code


SPAN_EXPORTERS: dict[str, Callable[[Up], Any]] = {
    "grpc": lambda up: GrpcSpans(up["otlp_grpc"], insecure=True),
    "grpc-gzip": lambda up: GrpcSpans(up["otlp_grpc"], insecure=True, compression=grpc.Compression.Gzip),
    "http": lambda up: HttpSpans(f"{up['otlp_http']}/v1/traces"),
    "http-gzip": lambda up: HttpSpans(f"{up['otlp_http']}/v1/traces", compression=Compression.Gzip),
    "http-deflate": lambda up: HttpSpans(f"{up['otlp_http']}/v1/traces", compression=Compression.Deflate),
}


@pytest.mark.parametrize("name", SPAN_EXPORTERS)
def test_official_span_exporters(service: Up, name: str) -> None:
    """300 spans of the SDK arrive with their names, kinds, attributes, parents and times."""
    provider = TracerProvider(resource=Resource({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(SPAN_EXPORTERS[name](service)))
    tracer = provider.get_tracer("tests", "1.2")
    with tracer.start_as_current_span("parent") as parent:
        for number in range(299):
            tracer.start_span("child", attributes={"number": number, "share": 0.5}).end()
    provider.shutdown()
    trace_id = f"{parent.get_span_context().trace_id:032x}"

    service.wait_for(
        f"SELECT count(), uniqExact(SpanId) FROM otel_traces WHERE ServiceName = '{name}'", "300\t300"
    )
    assert f"{trace_id}\t299\t44551\t299" == service.query(
        "SELECT any(TraceId), countIf(ParentSpanId != ''), sum(toUInt32OrZero(SpanAttributes['number'])),"
        f" countIf(SpanAttributes['share'] = '0.5') FROM otel_traces WHERE ServiceName = '{name}'"
    )
    assert "Internal\ttests\t1.2" == service.query(
        f"SELECT DISTINCT SpanKind, ScopeName, ScopeVersion FROM otel_traces WHERE ServiceName = '{name}'"
    )


@pytest.mark.parametrize("transport", ["grpc", "http"])
def test_official_metric_and_log_exporters(service: Up, transport: str) -> None:
    """A counter's point and a log record of the SDK arrive."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    resource = Resource({"service.name": f"others-{transport}"})
    is_grpc = transport == "grpc"
    metrics: Any = (
        GrpcMetrics(service["otlp_grpc"], insecure=True)
        if is_grpc
        else HttpMetrics(f"{service['otlp_http']}/v1/metrics")
    )
    meters = MeterProvider([PeriodicExportingMetricReader(metrics, 60_000)], resource)
    meters.get_meter("tests").create_counter("sent", "By").add(7, {"to": "x"})
    meters.shutdown()
    logs: Any = (
        GrpcLogs(service["otlp_grpc"], insecure=True)
        if is_grpc
        else HttpLogs(f"{service['otlp_http']}/v1/logs")
    )
    loggers = LoggerProvider(resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(logs))
    loggers.get_logger("tests").emit(
        LogRecord(timestamp=1, severity_number=SeverityNumber.WARN, body="said", attributes={"a": "b"})
    )
    loggers.shutdown()

    service.wait_for(
        "SELECT MetricName, Value, Attributes['to'] FROM otel_metrics_sum"
        f" WHERE ServiceName = 'others-{transport}'",
        "sent\t7\tx",
    )
    service.wait_for(
        "SELECT Body, SeverityNumber, LogAttributes['a'] FROM otel_logs"
        f" WHERE ServiceName = 'others-{transport}'",
        "said\t13\tb",
    )


def test_example_of_the_specification(service: Up) -> None:
    """OpenTelemetry's JSON example of a span is stored with every one of its values."""
    example = Path(__file__).parents[1] / "fixtures/otlp_examples/trace.json"
    answer = httpx.post(
        f"{service['otlp_http']}/v1/traces",
        content=example.read_bytes(),
        headers={"Content-Type": "application/json"},
    )

    assert (200, {}) == (answer.status_code, answer.json())
    expected = [
        "5b8efff798038103d269b633813fc60c",
        "eee19b7ec3c1b174",
        "eee19b7ec3c1b173",
        "I\\'m a server span",
        "Server",
        "my.library",
        "1544712660000000000",
        "1000000000",
        "some value",
        "my.service",
    ]
    service.wait_for(
        "SELECT TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ScopeName,"
        " toUnixTimestamp64Nano(Timestamp), Duration, SpanAttributes['my.span.attr'], ServiceName"
        " FROM otel_traces WHERE ServiceName = 'my.service'",
        "\t".join(expected),
    )


def test_bad_requests_beside_good_ones(service: Up) -> None:
    """Whatever is sent in between, every good span is stored once, and every bad request is told."""
    good = [bodies.traces(5, name="beside").SerializeToString() for _ in range(20)]
    codes = []
    for body in good:
        codes += [post(service, body), post(service, body[:-2]), post(service, b"{}")]

    assert [200, 400, 400] * 20 == codes
    service.wait_for(
        "SELECT count(), uniqExact(SpanId) FROM otel_traces WHERE SpanName = 'beside'", "100\t100"
    )


def test_fields_of_a_wrong_wire_type(service: Up) -> None:
    """A request that Protobuf's parser forgives and the store's does not costs nobody else a span."""
    wrong = bodies.traces(1, name="odd")
    # Field 5 (name) as a number: legal for Protobuf (unknown field), not for the store's reader.
    span = wrong.resource_spans[0].scope_spans[0].spans[0]
    span.MergeFromString(b"\x28\x07")
    neighbours = [bodies.traces(3, name="near").SerializeToString() for _ in range(4)]

    assert [200] * 5 == [post(service, body) for body in (*neighbours, wrong.SerializeToString())]
    service.wait_for("SELECT countIf(SpanName = 'near'), countIf(SpanName = 'odd') FROM otel_traces", "12\t1")


def test_status(service: Up) -> None:
    """Where everything is, and that every received request is accounted for."""
    status = service.status()
    counters = status["counters"]
    names = ("otlp_grpc", "otlp_http", "clickhouse", "http")

    assert {name: service[name] for name in names} == {name: status[name] for name in names}
    assert "otel_attrib" == status["database"]
    received = sum(value for name, value in counters.items() if name.startswith("received_requests"))
    kept = sum(
        value
        for name, value in counters.items()
        if name.startswith(("accepted_requests", "duplicate_requests", "refused_requests"))
    )
    assert received == kept > 0


@pytest.mark.parametrize(
    ("path", "text"), [("healthz", "ok"), ("readyz", "ok"), ("metrics", "otel_attrib_written_items")]
)
def test_endpoints(service: Up, path: str, text: str) -> None:
    """Liveness, readiness, Prometheus."""
    answer = httpx.get(f"{service['http']}/{path}", timeout=20)

    assert 200 == answer.status_code
    assert text in answer.text


def test_clickhouse_connect(service: Up) -> None:
    """The store answers over its ClickHouse port."""
    import clickhouse_connect

    host, port = service["clickhouse"].removeprefix("http://").split(":")
    with clickhouse_connect.get_client(host=host, port=int(port)) as client:
        tables = {row[0] for row in client.query("SHOW TABLES").result_rows}

    assert {"otel_traces", "requests", "steps", "samples", "requests_10s"} <= tables


def test_sql(service: Up) -> None:
    """`otel-attrib sql` asks the service: a table, any format, JSON; it only reads."""
    url = ("--url", service["http"])

    assert "a  b\n1  x\n1 row\n" == run("sql", "SELECT 1 AS a, 'x' AS b", *url).stdout
    assert '1,"x"\n' == run("sql", "SELECT 1 AS a, 'x' AS b FORMAT CSV", *url).stdout
    assert '1,"x"\n' == run("sql", "SELECT 1 AS a, 'x' AS b", "--format", "CSV", *url).stdout
    assert [{"a": 3}] == json.loads(
        run("sql", "SELECT {n:UInt8} AS a", "--param", "n=3", "--json", *url).stdout
    )["data"]
    refused = run("sql", "DROP TABLE requests", *url)
    assert (1, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert "readonly" in refused.stderr


def test_second_one_on_the_same_store(service: Up) -> None:
    """It says in one line who holds it."""
    second = run("up", f"--dsn=chdb://{service.directory}/store", "--otlp-http-port=0")

    assert (1, 1) == (second.returncode, second.stderr.count("\n"))
    assert f"process {service.process.pid}" in second.stderr


@pytest.mark.parametrize("name", ["otlp-grpc", "otlp-http", "clickhouse", "http"])
def test_port_in_use(tmp_path: Path, name: str) -> None:
    """One line names the port, what it is for, and what to do."""
    ports = [
        f"--{other}-port=0" for other in ("otlp-grpc", "otlp-http", "clickhouse", "http") if other != name
    ]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = run("up", "--dsn=chdb://memory", *ports, f"--{name}-port={port}")

    assert (1, 1) == (failed.returncode, failed.stderr.count("\n"))
    assert f"127.0.0.1:{port}" in failed.stderr
    assert f"--{name}-port" in failed.stderr


@pytest.mark.parametrize("words", [["--http-port=x"], ["--spool-limit=lots"], ["--dsn=postgres://x"]])
def test_wrong_options(words: list[str]) -> None:
    """A wrong value is named in one line, with exit code 2."""
    failed = run("up", *words)

    assert (2, 1) == (failed.returncode, failed.stderr.count("\n"))
    assert words[0].split("=")[1] in failed.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clean_stop_and_restart(up: Start, tmp_path: Path, number: int) -> None:
    """What was accepted a moment before the signal is in the store after the next start, and in no spool."""
    first = up(directory=tmp_path)
    for _ in range(10):
        assert 200 == post(first, bodies.traces(10, name="late").SerializeToString())
    assert 0 == first.stop(number)
    assert [] == list(tmp_path.glob("store-spool/*.seg"))
    second = up(directory=tmp_path)

    assert "100" == second.query("SELECT count() FROM otel_traces WHERE SpanName = 'late'")
    assert 0 == second.stop()


def test_stop_does_not_wait_for_queries(up: Start) -> None:
    """A statement of an hour, streamed or not, is cancelled when the service stops."""
    from concurrent.futures import ThreadPoolExecutor

    service = up("--dsn=chdb://memory", OTEL_ATTRIB_QUERY_SECONDS="1h")
    endless = "SELECT {} FROM numbers(1000000000000) WHERE sipHash64(number) = 1"

    def ask(what: str) -> int:
        try:
            return httpx.post(service["clickhouse"], content=endless.format(what), timeout=60).status_code
        except httpx.HTTPError:
            return 0

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(ask, what) for what in ("count()", "number")]
        service.wait_for("SELECT count() FROM system.processes WHERE query LIKE '%10000%sipHash64%'", "3")
        began = time.monotonic()
        assert 0 == service.stop()
        took = time.monotonic() - began

    assert took < 15
    assert all(answer.result() != 200 for answer in answers)


def test_human_ready_lines() -> None:
    """Without --json the addresses are told line by line."""
    words = [
        "up",
        "--dsn=chdb://memory",
        *(f"--{n}-port=0" for n in ("otlp-grpc", "otlp-http", "clickhouse", "http")),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "otel_attrib", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(5)]
    process.terminate()
    process.stdout.close()

    assert 0 == process.wait(60)
    assert all("http://127.0.0.1:" in line for line in lines[:4])
    assert lines[4].startswith("ready")


def test_settings_from_the_environment(up: Start) -> None:
    """A token from the environment is asked for on both transports."""
    service = up("--dsn=chdb://memory", OTEL_ATTRIB_OTLP_TOKEN="s3cret")
    headers = {"Content-Type": "application/x-protobuf", "Authorization": "Bearer s3cret"}

    assert 401 == post(service, b"")
    assert 200 == httpx.post(f"{service['otlp_http']}/v1/traces", content=b"", headers=headers).status_code
    assert "s3cret" not in service.log.read_text()
    assert 0 == service.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[int], tuple[subprocess.Popen[bytes], int]]]:
    """Start a ClickHouse server stand-in on a port (0: any) over the test's directory."""
    started: list[subprocess.Popen[bytes]] = []

    def start(port: int) -> tuple[subprocess.Popen[bytes], int]:
        process = subprocess.Popen(
            [sys.executable, "-m", "otel_attrib.testing_clickhouse", str(tmp_path / "server"), str(port)],
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_clickhouse_server(up: Start, server: Callable[[int], Any], tmp_path: Path) -> None:
    """With a clickhouse:// DSN: refused without tables; with them spans arrive, an outage included."""
    from otel_attrib.schema.migrate import migrate
    from otel_attrib.schema.store import open_store

    process, port = server(0)
    dsn = f"clickhouse://127.0.0.1:{port}/otel_attrib"
    refused = run("up", f"--dsn={dsn}", *(f"--{n}-port=0" for n in ("otlp-grpc", "otlp-http", "http")))
    assert (1, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert "migrate" in refused.stderr

    with open_store(dsn) as store:
        migrate(store)
        service = up(f"--dsn={dsn}", f"--spool={tmp_path}/spool")
        assert f"http://127.0.0.1:{port}" == service["clickhouse"]
        assert 200 == post(service, bodies.traces(10, name="remote").SerializeToString())
        service.wait_for("SELECT count() FROM otel_attrib.otel_traces WHERE SpanName = 'remote'", "10")
    process.kill()
    process.wait()
    assert 200 == post(service, bodies.traces(10, name="remote").SerializeToString())
    assert 503 == httpx.get(f"{service['http']}/readyz", timeout=60).status_code
    server(port)
    service.wait_for("SELECT count() FROM otel_attrib.otel_traces WHERE SpanName = 'remote'", "20")
    assert 0 == service.stop()


HANGING = """
import logging, sys, threading, time
from otel_attrib.collector import clickhouse_http, up
from otel_attrib.config import Settings

def hang(self):
    while True:
        time.sleep(1)

setattr(clickhouse_http.ClickHouseHttp, sys.argv[1], hang)
ports = dict.fromkeys(("otlp_grpc_port", "otlp_http_port", "clickhouse_port", "http_port"), 0)
settings = Settings(dsn="chdb://memory", stop_seconds=2.0, **ports)
up.serve(settings, lambda addresses: print("ready", flush=True))
"""


@pytest.mark.parametrize("what", ["cancel", "close"])
def test_stop_does_not_wait_for_an_engine_that_hangs(what: str) -> None:
    """The process ends soon after `stop_seconds` and says why, although a thread never returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert "ready\n" == process.stdout.readline()
        process.terminate()
        errors = process.communicate(timeout=20)[1]
    finally:
        process.kill()

    assert 1 == process.returncode
    assert "takes too long" in errors
    assert "the process ends without it" in errors
