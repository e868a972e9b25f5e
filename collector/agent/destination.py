"""Where readings are sent, from an option and the variables that every OpenTelemetry exporter reads."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from otel_attrib.errors import ConfigError

__all__ = ["DEFAULT_ENDPOINT", "Destination", "destination"]

DEFAULT_ENDPOINT: Final = "http://127.0.0.1:4318"
_PATH = "/v1/metrics"
_GRPC_PORT = 4317
_OTLP = "OTEL_EXPORTER_OTLP_"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HOST = re.compile(r"[\w.:%-]+")
_LONGEST_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Destination:
    """A receiver of OTLP metrics; what is secret is in no repr."""

    url: str
    protocol: Literal["grpc", "http/protobuf"]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    gzip: bool = False
    certificate: str = ""
    timeout_s: float = 10.0


def destination(environ: Mapping[str, str], endpoint: str | None = None) -> Destination:
    """`endpoint`, else OTEL_ATTRIB_OTLP_ENDPOINT, else OTEL_EXPORTER_OTLP_[METRICS_]ENDPOINT, else loopback.

    Port 4317 means gRPC and every other HTTP, unless OTEL_EXPORTER_OTLP_[METRICS_]PROTOCOL says which.
    """
    whole = environ.get(f"{_OTLP}METRICS_ENDPOINT", "")
    given = endpoint or environ.get("OTEL_ATTRIB_OTLP_ENDPOINT") or whole or environ.get(f"{_OTLP}ENDPOINT")
    base = (given or DEFAULT_ENDPOINT).rstrip("/")
    if "@" in base:
        raise ConfigError("endpoint", "…", f"must not hold a password: give a token in {_OTLP}HEADERS")
    where, port = _parts(base)
    protocol = _protocol(_said(environ, "PROTOCOL"), port)
    if protocol != "grpc" and not base.endswith(_PATH) and given != whole:
        base += _PATH
    return Destination(
        base,
        protocol,
        _headers(environ),
        _gzip(_said(environ, "COMPRESSION"), str(where.hostname)),
        _certificate(_said(environ, "CERTIFICATE")),
        _timeout(_said(environ, "TIMEOUT")),
    )


def _parts(base: str) -> tuple[SplitResult, int | None]:
    """The parts of an address that a connection can be made to, and its port."""
    try:
        where = urlsplit(base)
        host, port = where.hostname or "", where.port
        host.encode("idna")
    except ValueError:
        host = ""
    if not _HOST.fullmatch(host) or where.scheme not in ("http", "https") or not base.isprintable():
        raise ConfigError("endpoint", base, "is not of the form http://host:port")
    return where, port


def _said(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(f"{_OTLP}METRICS_{name}") or environ.get(f"{_OTLP}{name}") or "").strip()


def _protocol(said: str, port: int | None) -> Literal["grpc", "http/protobuf"]:
    if said == "grpc" or (not said and port == _GRPC_PORT):
        return "grpc"
    if said not in ("", "http/protobuf"):
        raise ConfigError(f"{_OTLP}PROTOCOL", said, "is neither grpc nor http/protobuf")
    return "http/protobuf"


def _headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Names in lower case; a fault tells the name of the variable and never what is in it."""
    headers = {}
    for variable in (f"{_OTLP}HEADERS", f"{_OTLP}METRICS_HEADERS"):
        for word in filter(str.strip, environ.get(variable, "").split(",")):
            key, equals, value = word.partition("=")
            if (
                not equals
                or not key.strip()
                or not unquote(word).isascii()
                or not unquote(word).isprintable()
            ):
                raise ConfigError(variable, "…", "is not of the form key=value,key=value in printable ASCII")
            headers[key.strip().lower()] = unquote(value.strip())
    return headers


def _gzip(said: str, host: str) -> bool:
    """Compression pays on a wire; on loopback it would only cost the CPU that is measured."""
    if said not in ("", "gzip", "none"):
        raise ConfigError(f"{_OTLP}COMPRESSION", said, "is neither gzip nor none")
    return said == "gzip" or (not said and host not in _LOOPBACK)


def _certificate(path: str) -> str:
    try:
        if path:
            open(path, "rb").close()
            ssl.create_default_context(cafile=path)
    except ssl.SSLError as fault:
        raise ConfigError(f"{_OTLP}CERTIFICATE", path, "holds no certificate in PEM") from fault
    except OSError as fault:
        raise ConfigError(f"{_OTLP}CERTIFICATE", path, f"cannot be read: {fault.strerror}") from fault
    return path


def _timeout(said: str) -> float:
    """OpenTelemetry's Python exporters take seconds, and so do we."""
    try:
        seconds = float(said or 10.0)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_TIMEOUT_S:
        raise ConfigError(f"{_OTLP}TIMEOUT", said, "is no number of seconds from above 0 to 3600")
    return seconds
