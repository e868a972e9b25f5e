"""OTLP over TLS: with a certificate both listeners speak it, and nothing else."""

import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from otel_attrib import testing_otlp as bodies
from otel_attrib.collector.agent.destination import destination
from otel_attrib.collector.agent.transport import transport
from otel_attrib.collector.signals import TRACES

# Not typed: conftest modules cannot be imported.
Serve = Callable[..., Any]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost, signed by itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return certificate, key


def test_tls(serve: Serve, pair: tuple[Path, Path]) -> None:
    """Clients that trust the certificate are heard on both ports."""
    service = serve(tls_cert=str(pair[0]), tls_key=str(pair[1]))
    first, second = (bodies.traces().SerializeToString() for _ in range(2))
    answer = httpx.post(
        f"{service.url}/v1/traces",
        content=first,
        headers={"Content-Type": "application/x-protobuf"},
        verify=ssl.create_default_context(cafile=pair[0]),
    )
    credentials = grpc.ssl_channel_credentials(pair[0].read_bytes())
    with grpc.secure_channel(f"localhost:{service.grpc_port}", credentials) as channel:
        export: Any = channel.unary_unary(TRACES.method)
        assert b"" == export(second, timeout=20)

    assert 200 == answer.status_code
    assert sorted([first, second]) == sorted(service.kept)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_the_agent_trusts_the_certificate_it_is_given(
    serve: Serve, pair: tuple[Path, Path], protocol: str
) -> None:
    """With OTEL_EXPORTER_OTLP_CERTIFICATE its requests are kept; without it they are to be tried again."""
    service = serve(tls_cert=str(pair[0]), tls_key=str(pair[1]))
    port = service.grpc_port if protocol == "grpc" else service.http_port
    environ = {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_TIMEOUT": "5"}
    trusting = environ | {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(pair[0])}
    body = bodies.metrics().SerializeToString()
    answers = []
    for given in (trusting, environ):
        to = transport(destination(given, f"https://localhost:{port}"))
        answers.append(to.send(body))
        to.close()

    assert [(False, True), (True, False)] == [(answer.again, answer.kept) for answer in answers]
    assert [body] == service.kept


def test_plain_text_is_not_heard(serve: Serve, pair: tuple[Path, Path]) -> None:
    """Without TLS, nothing gets in."""
    service = serve(tls_cert=str(pair[0]), tls_key=str(pair[1]))
    with pytest.raises(httpx.HTTPError):
        httpx.post(f"http://127.0.0.1:{service.http_port}/v1/traces", content=b"")
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        export: Any = channel.unary_unary(TRACES.method)
        with pytest.raises(grpc.RpcError):
            export(b"", timeout=5)

    assert [] == service.kept


@pytest.mark.parametrize("broken", ["tls_cert", "tls_key"])
def test_unreadable_certificate(pair: tuple[Path, Path], tmp_path: Path, broken: str) -> None:
    """A file that is no certificate or key is named in one line."""
    import sys

    names = dict(zip(("tls_cert", "tls_key"), map(str, pair), strict=True))
    names[broken] = str(tmp_path / "absent.pem")
    environment = {f"OTEL_ATTRIB_{name.upper()}": value for name, value in names.items()}
    ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
    done = subprocess.run(
        [sys.executable, "-m", "otel_attrib", "up", "--dsn=chdb://memory", *ports],
        env={"PATH": "/usr/bin:/bin", "OTEL_ATTRIB_AGENT": "off", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (2, 1) == (done.returncode, done.stderr.count("\n"))
    assert "absent.pem" in done.stderr
