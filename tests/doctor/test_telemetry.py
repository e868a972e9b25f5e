"""Variables that would keep spans from arriving are named with what to write instead."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import otel_attrib
from otel_attrib.doctor.check import Finding, Surroundings
from otel_attrib.doctor.telemetry import settings, standard


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine on which somebody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def findings(**environ: str) -> list[Finding]:
    """What is said of these variables, a service name among them."""
    return list(standard(Surroundings(environ={"OTEL_SERVICE_NAME": "chat", **environ})))


def test_clean() -> None:
    """Nothing set, or nothing that surprises, is one OK line."""
    assert [("OK", "none is set")] == [(f.level, f.text) for f in standard(Surroundings(environ={}))]
    assert ["1 set, nothing that would surprise"] == [found.text for found in findings()]


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("OTEL_SDK_DISABLED", "true", "unset it"),
        ("OTEL_TRACES_EXPORTER", "none", "set it to otlp"),
        ("OTEL_TRACES_EXPORTER", "console", "set it to otlp"),
        ("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "flask, vllm", "take vllm out"),
        ("OTEL_ATTRIB_DISABLED", "1", "unset it"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_off", "set it to parentbased_always_on"),
        ("OTEL_TRACES_SAMPLER", "traceidratio", "parentbased_always_on keeps every request"),
        ("OTEL_PROPAGATORS", "b3", "add tracecontext"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Bearer x", "write a space as %20"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1024", "unset it, or at least 16384"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "32", "unset it, or at least 64"),
        ("HTTP_PROXY", "http://proxy:3128", "NO_PROXY=127.0.0.1,localhost"),
    ],
)
def test_surprises(name: str, value: str, fix: str) -> None:
    """Each is a warning with its fix."""
    assert [("WARN", fix)] == [(found.level, found.fix) for found in findings(**{name: value})]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "otlp,console"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_on"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "128"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x"),
    ],
)
def test_no_surprise(name: str, value: str) -> None:
    """What works is not warned of."""
    assert ["OK"] == [found.level for found in findings(**{name: value})]


def test_service_name() -> None:
    """A shell with OTEL_* and without a service name is warned of."""
    (found,) = standard(Surroundings(environ={"OTEL_TRACES_EXPORTER": "otlp"}))

    assert ("WARN", "OTEL_SERVICE_NAME=chat, say") == (found.level, found.fix)


def test_endpoint_that_works(port: int) -> None:
    """An address where somebody answers, with the protocol of its port, is fine."""
    assert ["OK"] == [
        found.level for found in findings(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    ]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:{port}"}, "no http:// address"),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:{port}/v1/traces",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            },
            "gets /v1/traces added once more",
        ),
        (
            {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:{port}",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            },
            "lacks its path",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_PROTOCOL": "http"},
            "OTLP protocol 'http' is none",
        ),
    ],
    ids=["no-scheme", "path-twice", "path-missing", "protocol"],
)
def test_endpoint_mistakes(port: int, environ: dict[str, str], expected: str) -> None:
    """Form, path and protocol of an endpoint are held against how exporters read it."""
    (found,) = findings(**{name: value.format(port=port) for name, value in environ.items()})

    assert "WARN" == found.level
    assert expected in found.text


@pytest.mark.parametrize(
    ("port", "protocol", "expected"),
    [("4318", "grpc", "is the HTTP port"), ("4317", "http/protobuf", "is the gRPC port")],
)
def test_ports_mixed_up(port: str, protocol: str, expected: str) -> None:
    """gRPC to the HTTP port, and the other way round."""
    found = findings(
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://collector.invalid:{port}", OTEL_EXPORTER_OTLP_PROTOCOL=protocol
    )

    assert any(expected in each.text for each in found)


def test_password_is_not_shown() -> None:
    """A password in an address does not reach the report."""
    found = findings(OTEL_EXPORTER_OTLP_ENDPOINT="http://user:secret@127.0.0.1:1")

    assert found
    assert not any("secret" in each.text for each in found)


def test_every_variable_that_is_read_is_known() -> None:
    """No variable that our own code or scripts read is called misspelt."""
    source = Path(otel_attrib.__file__).parent
    roots = (source, *(path for path in source.iterdir() if path.is_symlink()))
    files = [file for root in roots for end in ("*.py", "*.sh") for file in root.rglob(end)]
    names = {
        name for file in files for name in re.findall(r"\bOTEL_ATTRIB_[A-Z0-9_]*[A-Z0-9]\b", file.read_text())
    }
    environ = {name: "1" for name in names if not name.startswith("OTEL_ATTRIB_TEST")}

    assert [] == [
        found.text for found in settings(Surroundings(environ=environ)) if "no setting" in found.text
    ]


def test_settings() -> None:
    """A setting that cannot be read fails, a misspelt one warns, known ones are counted."""

    def levels(**environ: str) -> list[str]:
        return [found.level for found in settings(Surroundings(environ=environ))]

    assert ["OK"] == levels(OTEL_ATTRIB_HTTP_PORT="0", OTEL_ATTRIB_ENABLED="1")
    assert ["FAIL", "OK"] == levels(OTEL_ATTRIB_HTTP_PORT="many")
    assert ["WARN"] == levels(OTEL_ATTRIB_HTPP_PORT="0")
