"""One page over HTTP: what is read, and every way in which it is not."""

import gzip
import shutil
import socket
import subprocess
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from otel_attrib.collector.sources.scrape.endpoint import Endpoint
from otel_attrib.collector.sources.scrape.fetch import LIMIT, Fetched, Page, Unreadable
from otel_attrib.collector.sources.scrape.target import target

from .conftest import Server, page, plain


def fetched(server: Server, token: str = "", **more: Any) -> Fetched:
    """Fetch the server's page once."""
    fetch = Page(target(server.url), token, **more)
    try:
        return fetch.fetch()
    finally:
        fetch.close()


def said(server: Server, **more: Any) -> str:
    """Why the page cannot be read."""
    with pytest.raises(Unreadable) as caught:
        fetched(server, **more)
    return str(caught.value).replace(server.url, "PAGE")


def test_a_page_comes_as_it_is(server: Server) -> None:
    """Byte for byte, and timestamps are ms unless the page is OpenMetrics."""
    server.answer = plain(page("vllm"))
    assert (page("vllm"), 1.0) == fetched(server)
    server.answer = plain("a 1\n# EOF\n", "application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert ("a 1\n# EOF\n", 1000.0) == fetched(server)


def test_a_connection_is_kept_and_made_anew_when_the_server_ended_it(server: Server) -> None:
    """Three pages come though the server closes between the second and the third."""
    server.answer = plain("a 1\n")
    fetch = Page(target(server.url))
    fetch.fetch()
    first = fetch._connection
    fetch.fetch()
    assert first is fetch._connection
    assert first is not None
    first.sock.shutdown(socket.SHUT_RDWR)
    assert "a 1\n" == fetch.fetch().text
    assert first is not fetch._connection
    fetch.close()


def test_gzip_is_unpacked(server: Server) -> None:
    """A server that packs although it is not asked to is read; one that packs a bomb is not."""

    def packed(body: bytes) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/plain")
            handler.send_header("Content-Encoding", "gzip")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        server.answer = answer

    packed(gzip.compress(page("sglang").encode()))
    assert page("sglang") == fetched(server).text
    packed(gzip.compress(b"a 1\n" * (LIMIT // 4 + 1)))
    assert "PAGE: answers with more than 16 MiB" == said(server, timeout_s=10)
    packed(b"no gzip")
    assert "PAGE: its packing is broken" == said(server)


def test_a_huge_page_is_not_read_to_its_end(server: Server) -> None:
    """Reading stops at the limit."""
    server.answer = plain("a 1\n" * 1000)

    assert "PAGE: answers with more than 0 MiB" == said(server, limit=3999)
    assert 4000 == len(fetched(server, limit=4000).text)


def test_a_slow_server_costs_its_second_and_no_more(server: Server) -> None:
    """Silence and drops alike end at the timeout."""

    def silent(_: BaseHTTPRequestHandler) -> None:
        time.sleep(1.0)

    def drops(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(20):
            handler.wfile.write(b"a")
            handler.wfile.flush()
            time.sleep(0.05)

    for answer in (silent, drops):
        server.answer = answer
        began = time.monotonic()
        assert "PAGE: no answer within 0.2 s" == said(server, timeout_s=0.2)
        assert 0.15 < time.monotonic() - began < 0.6


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (302, "sends on to another address, which is not followed: give that one"),
        (401, "asks for a token (HTTP 401): OTEL_ATTRIB_SCRAPE_TOKEN is sent as a bearer"),
        (404, "answers HTTP 404 Not Found"),
        (500, "answers HTTP 500 Internal Server Error"),
    ],
)
def test_an_answer_that_is_no_page_is_said(server: Server, status: int, says: str) -> None:
    """The status says what to do; a redirect is not followed."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", "/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answer = answer

    assert f"PAGE: {says}" == said(server)
    assert ["/metrics"] == [request["path"] for request in server.requests]


def test_a_web_page_is_no_page_of_metrics(server: Server) -> None:
    """By its type, or by how it begins."""
    for kind in ("text/html; charset=utf-8", "text/plain"):
        server.answer = plain("<!doctype html><title>Grafana</title>", kind)
        assert "PAGE: answers with a web page, not with metrics" == said(server)


def test_nobody_there(server: Server) -> None:
    """A port on which nobody listens says so."""
    server.close()

    assert "PAGE: Connection refused" == said(server)


def test_a_server_that_speaks_something_else() -> None:
    """A greeting of another protocol is no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fetch = Page(target(f"127.0.0.1:{listener.getsockname()[1]}"), timeout_s=0.5)
        fetch._connection = fetch._connected(time.monotonic() + 1)
        peer, _ = listener.accept()
        peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        with pytest.raises(Unreadable, match="no HTTP: BadStatusLine"):
            fetch.fetch()
        peer.close()


def test_secrets_are_sent_and_never_said(server: Server) -> None:
    """The token is a bearer, a name in the URL basic authentication; neither is in an error or a repr."""
    server.answer = plain("a 1\n")
    fetched(server, "s3cret")
    named = target(f"http://me:pass%20word@127.0.0.1:{server.port}/metrics")
    fetch = Page(named, "s3cret")
    fetch.fetch()
    fetch.close()

    assert ["Bearer s3cret", "Basic bWU6cGFzcyB3b3Jk"] == [each["Authorization"] for each in server.requests]
    server.close()
    with pytest.raises(Unreadable) as caught:
        Page(named, "s3cret").fetch()
    for text in (str(caught.value), repr(named), named.where):
        assert "pass" not in text
        assert "s3cret" not in text


def test_prometheus_client_s_own_server_is_read() -> None:
    """A real exporter of that library, over the network and in OpenMetrics."""
    registry = CollectorRegistry()
    Gauge("tgi_queue_size", "Requests that wait", registry=registry).set(7)
    http, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        endpoint = Endpoint(target(f"127.0.0.1:{http.server_port}"))
        found = {series.counter.key: value for series, value in endpoint.read()}
        endpoint.close()
    finally:
        http.shutdown()
        http.server_close()
        thread.join()

    assert {"engine_waiting": 7, "scrape_success": 1, "scrape_unknown": 0, "scrape_late": 0} == found


def test_a_certificate_has_to_be_trusted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate signed by itself is refused in words, and read where SSL_CERT_FILE names it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    server.answer = plain("a 1\n")
    server.speak_tls(certificate, key)

    assert "PAGE: its certificate is not trusted: self-signed certificate" == said(server)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert "a 1\n" == fetched(server).text
