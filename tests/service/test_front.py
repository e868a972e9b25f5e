"""What stands before the routes: hosts and origins, headers, counts, log lines, traces; and the page."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.analytics.service.headers import POLICY
from otel_attrib.analytics.service.hosts import allowed_hosts
from otel_attrib.analytics.service.logs import JsonFormat
from otel_attrib.analytics.service.tracing import endpoint_of
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8080", 200), ("localhost", 200), ("[::1]:80", 200), ("LocalHost:1", 200)]
    + [("evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421), ("[", 421)],
)
def test_only_own_names_on_loopback(api: Api, host: str, status: int) -> None:
    """A name that somebody else made point to loopback is refused before anything is asked."""
    assert status == api.get("/status", headers={"Host": host}).status_code


def test_names_of_a_proxy(make_api: Any, filled: Store) -> None:
    """Setting api_hosts lets further names in, and closes all others also beyond loopback."""
    assert frozenset() == allowed_hosts("0.0.0.0", ())
    api = make_api(filled, host="0.0.0.0", api_open=True, api_hosts=("why.example",))

    statuses = [
        api.get("/status", headers={"Host": host}).status_code for host in ("why.example", "x.example")
    ]

    assert [200, 421] == statuses
    pod = {"Host": "10.0.0.7"}
    assert [200, 200] == [api.ask("GET", path, headers=pod).status_code for path in ("/healthz", "/metrics")]


def test_another_page_may_not_write(api: Api) -> None:
    """A POST that a page of another origin sends is 403; one of the service's own page is not."""
    body = {"name": "v9", "kind": "deploy"}
    origins = ("http://evil.example", "null", "http://127.0.0.1:8080")

    statuses = [
        api.ask("POST", "/api/v1/marks", json=body, headers={"Origin": origin}).status_code
        for origin in origins
    ]

    assert [403, 403, 201] == statuses


@pytest.mark.parametrize(
    "path", ["/api/v1/status", "/api/v1/nothing", "/", "/metrics", "/api/v1/quantiles?x=1"]
)
def test_safe_headers_everywhere(api: Api, path: str) -> None:
    """Every answer, a fault too, tells browsers to load nothing from elsewhere, sniff and refer nothing."""
    headers = api.ask("GET", path).headers

    assert (POLICY, "nosniff", "no-referrer") == (
        headers["content-security-policy"],
        headers["x-content-type-options"],
        headers["referrer-policy"],
    )


def test_requests_are_counted_by_route(make_api: Any, filled: Store) -> None:
    """/metrics counts answers by route, method and status: an id in a path or a made-up path is no label."""
    api = make_api(filled)
    for path in ("/trace/acme-10-5", "/trace/none", "/quantiles?x=1", "/made/up/path"):
        api.get(path)
    page = api.ask("GET", "/metrics").text

    expected = {
        ("/api/v1/trace/{id}", "200"): 1.0,
        ("/api/v1/trace/{id}", "404"): 1.0,
        ("/api/v1/quantiles", "422"): 1.0,
        ("none", "404"): 1.0,
    }
    assert expected == {
        (route, status): api.app.state.meters.registry.get_sample_value(
            "otel_attrib_api_requests_total", {"route": route, "method": "GET", "status": status}
        )
        for route, status in expected
    }
    assert 'otel_attrib_api_requests_total{method="GET",route="/api/v1/trace/{id}",status="200"} 1.0' in page
    assert "otel_attrib_api_seconds_bucket" in page and "acme-10-5" not in page


def test_a_line_for_each_request(make_api: Any, filled: Store, caplog: pytest.LogCaptureFixture) -> None:
    """With access_log each request is one line of JSON in its caller's trace, and no secret is in it."""
    api = make_api(filled, access_log=True)
    with caplog.at_level(logging.INFO, "otel_attrib.access"):
        caplog.handler.setFormatter(JsonFormat())
        headers = {"traceparent": PARENT, "Authorization": "Bearer secret-1"}
        api.get("/quantiles?metric=ttft&access_token=secret-2", headers=headers)
        line = json.loads(caplog.text)

    assert ("GET", "/api/v1/quantiles", 422, "info", "otel_attrib.access") == (
        line["method"],
        line["route"],
        line["status"],
        line["level"],
        line["logger"],
    )
    assert "4bf92f3577b34da6a3ce929d0e0e4736" == line["trace_id"] and 16 == len(line["span_id"])
    assert "secret" not in caplog.text and "metric=ttft" in line["path"]


def test_log_lines_without_a_trace() -> None:
    """A line outside a request has no ids; one with an exception carries it."""
    record = logging.LogRecord("x", logging.WARNING, "f.py", 1, "said %s", ("it",), None)
    try:
        raise ValueError("why")
    except ValueError as fault:
        failed = logging.LogRecord(
            "x", logging.ERROR, "f.py", 1, "no", (), (ValueError, fault, fault.__traceback__)
        )

    assert ("said it", "warning") == tuple(
        json.loads(JsonFormat().format(record))[key] for key in ("message", "level")
    )
    assert "trace_id" not in JsonFormat().format(record)
    assert "ValueError: why" in json.loads(JsonFormat().format(failed))["exception"]


def test_spans_are_sent_where_an_endpoint_is(
    make_api: Any, filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an endpoint a request is a server span of its caller's trace, without the words of its query."""
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()  # stands in for a collector
    monkeypatch.setattr("otel_attrib.analytics.service.tracing._exporter", lambda endpoint: kept)
    api = make_api(filled, api_traces="http://collector.example:4317")
    api.get("/quantiles?metric=ttft&where=tenant%3Dacme", headers={"traceparent": PARENT})
    api.ask("GET", "/healthz")
    api.app.state.traces.force_flush()

    (span,) = kept.get_finished_spans()
    assert ("GET /api/v1/quantiles", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7") == (
        span.name,
        f"{span.context.trace_id:032x}",
        f"{span.parent.span_id if span.parent else 0:016x}",
    )
    assert "acme" not in json.dumps(dict(span.attributes or {}))


def test_no_spans_to_itself(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """OpenTelemetry's variable is followed unless it names this service, which is said; a setting always."""
    own = ("http://127.0.0.1:4317", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317")
    assert "" == endpoint_of("", own)
    assert "not sent to itself" in caplog.text
    assert "http://localhost:4317" == endpoint_of("http://localhost:4317", own)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel.example:4317")
    assert "http://otel.example:4317" == endpoint_of("", own)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    assert "" == endpoint_of("", own)


def test_the_page_is_served(make_api: Any, filled: Store, tmp_path: Path) -> None:
    """`/` is the page, asked for anew each time; a file named by its content's hash is kept for ever."""
    (tmp_path / "index.html").write_text("<!doctype html><title>t</title>")
    (tmp_path / "app.js").write_text("1")
    api = make_api(filled, page=tmp_path)
    page, hashed, plain, outside = (
        api.ask("GET", path)
        for path in ("/", "/assets/app.js?v=abc", "/assets/app.js", "/assets/../../etc/passwd")
    )

    assert ("text/html; charset=utf-8", "no-cache") == (
        page.headers["content-type"],
        page.headers["cache-control"],
    )
    assert "immutable" in hashed.headers["cache-control"] and "no-cache" == plain.headers["cache-control"]
    assert "1" == plain.text and "javascript" in plain.headers["content-type"]
    assert (
        304 == api.ask("GET", "/assets/app.js", headers={"If-None-Match": plain.headers["etag"]}).status_code
    )
    assert 404 == outside.status_code


def test_without_a_page(api: Api) -> None:
    """Where no page is built, `/` says where the API is described."""
    answer = api.ask("GET", "/")

    assert 404 == answer.status_code and "/openapi.json" in answer.text


def test_the_document_needs_no_token(guarded: Api) -> None:
    """Health, metrics and the description answer without a token; they hold nothing of requests."""
    statuses = [
        guarded.ask("GET", path).status_code for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")
    ]

    assert [200] * 4 == statuses
