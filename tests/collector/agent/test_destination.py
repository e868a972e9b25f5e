"""Where readings go: option, variables, default; the protocol of a port; no secret in a message."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from otel_attrib.collector.agent.destination import destination
from otel_attrib.errors import ConfigError

OTLP = "OTEL_EXPORTER_OTLP_"
TOKEN = "Bearer%20topsecret"


@pytest.mark.parametrize(
    ("environ", "endpoint", "url", "protocol"),
    [
        ({}, None, "http://127.0.0.1:4318/v1/metrics", "http/protobuf"),
        ({}, "http://c:4318/", "http://c:4318/v1/metrics", "http/protobuf"),
        ({}, "https://c/otlp", "https://c/otlp/v1/metrics", "http/protobuf"),
        ({}, "http://c:4317", "http://c:4317", "grpc"),
        ({f"{OTLP}ENDPOINT": "http://c:4318"}, None, "http://c:4318/v1/metrics", "http/protobuf"),
        ({f"{OTLP}ENDPOINT": "http://c:4318"}, "http://d:1", "http://d:1/v1/metrics", "http/protobuf"),
        ({f"{OTLP}METRICS_ENDPOINT": "http://c:9/in"}, None, "http://c:9/in", "http/protobuf"),
        ({f"{OTLP}ENDPOINT": "http://c:9", f"{OTLP}PROTOCOL": "grpc"}, None, "http://c:9", "grpc"),
        (
            {f"{OTLP}ENDPOINT": "http://c:4317", f"{OTLP}METRICS_PROTOCOL": "http/protobuf"},
            None,
            "http://c:4317/v1/metrics",
            "http/protobuf",
        ),
        (
            {f"{OTLP}ENDPOINT": "http://c:1", "OTEL_ATTRIB_OTLP_ENDPOINT": "http://d:4317"},
            None,
            "http://d:4317",
            "grpc",
        ),
    ],
    ids=[
        "default",
        "option",
        "path",
        "gRPC",
        "variable",
        "option first",
        "whole",
        "said",
        "HTTP on 4317",
        "ours",
    ],
)
def test_url_and_protocol(environ: Mapping[str, str], endpoint: str | None, url: str, protocol: str) -> None:
    """The path of the signal is added where the variable is not already of metrics alone."""
    to = destination(environ, endpoint)

    assert (url, protocol) == (to.url, to.protocol)


def test_headers_are_decoded_and_kept_out_of_sight() -> None:
    """A bearer token is decoded, in lower case, and in no text made of the destination."""
    to = destination({f"{OTLP}HEADERS": f"Authorization={TOKEN}, x-a=1"})

    assert {"authorization": "Bearer topsecret", "x-a": "1"} == to.headers
    assert "topsecret" not in repr(to)


@pytest.mark.parametrize(
    ("environ", "endpoint"),
    [
        ({f"{OTLP}HEADERS": TOKEN}, None),
        ({f"{OTLP}HEADERS": f"a={TOKEN}%0d%0ab"}, None),
        ({f"{OTLP}HEADERS": f"a={TOKEN}ü"}, None),
        ({}, "http://user:topsecret@c:4318"),
    ],
    ids=["no key", "line break", "not ASCII", "in the URL"],
)
def test_a_fault_shows_no_secret(environ: Mapping[str, str], endpoint: str | None) -> None:
    """What is wrong with a header or a password is said without either."""
    with pytest.raises(ConfigError) as fault:
        destination(environ, endpoint)

    assert "topsecret" not in str(fault.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROTOCOL", "http/json"),
        ("COMPRESSION", "br"),
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "-1"),
        ("TIMEOUT", "0"),
        ("TIMEOUT", "nan"),
        ("TIMEOUT", "inf"),
        ("ENDPOINT", "collector:4318"),
        ("ENDPOINT", "http://c:99999"),
        ("ENDPOINT", "http://c:port"),
        ("ENDPOINT", "http://collect or:4318"),
        ("ENDPOINT", "http://a..b:4318"),
        ("ENDPOINT", "http://:4318"),
        ("ENDPOINT", "http://::1x]:4318"),
        ("CERTIFICATE", "/nonexistent/ca.pem"),
    ],
)
def test_values_that_cannot_be_used(name: str, value: str) -> None:
    """Each is named with its value."""
    with pytest.raises(ConfigError, match=re.escape(repr(value))):
        destination({OTLP + name: value})


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    """It is told at the start, with the file, and not at every request."""
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n")

    with pytest.raises(ConfigError, match=r"key\.pem.*holds no certificate"):
        destination({f"{OTLP}CERTIFICATE": str(tmp_path / "key.pem")})


@pytest.mark.parametrize("endpoint", ["http://[::1", "http://[::1]:x", "http://c:1/\x1b[31m"])
def test_addresses_that_do_not_parse(endpoint: str) -> None:
    """A wrong address is told as one, whatever is wrong with it."""
    with pytest.raises(ConfigError, match="http://host:port"):
        destination({}, endpoint)


@pytest.mark.parametrize(
    ("endpoint", "said", "packed"),
    [
        ("http://127.0.0.1:4318", "", False),
        ("http://c:4318", "", True),
        ("http://c:4318", "none", False),
        ("http://localhost:4318", "gzip", True),
    ],
)
def test_compression(endpoint: str, said: str, packed: bool) -> None:
    """On a wire by default, on loopback only when asked for."""
    assert packed == destination({f"{OTLP}COMPRESSION": said}, endpoint).gzip
