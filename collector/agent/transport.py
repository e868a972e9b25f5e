"""One request on its way: OTLP over HTTP or gRPC, and what became of it in three words.

Kept, to be sent again (the collector is away, or asks to wait), or refused for good. What OTLP says of status
codes is followed: 429, 502, 503 and 504 may be tried again, and of gRPC those that the specification lists.
"""

import gzip
import http.client
import math
import select
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Timer
from typing import Any, Protocol
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from otel_attrib import __version__
from otel_attrib.collector.agent.destination import Destination

__all__ = ["Answer", "GrpcTransport", "HttpTransport", "Transport", "answered", "transport"]

_AGAIN = (429, 502, 503, 504)
_GRPC_AGAIN = ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")
_METHOD = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
_DETAILS = "grpc-status-details-bin"
_FASTEST = 1
_WORDS = 200
# Of an answer; what is longer is no answer to an export, and is not read to its end.
_MOST_SAID = 64 << 10


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request; `why` is empty where all of it was kept."""

    again: bool = False
    """It may be sent again, after `wait_s` if that is known."""
    wait_s: float | None = None
    kept: bool = True
    rejected: int = 0
    """Points that were taken out of a request that was kept."""
    why: str = ""


class Transport(Protocol):
    """A way to one collector."""

    @property
    def where(self) -> str:
        """Its address, for messages."""
        ...

    def send(self, body: bytes) -> Answer:
        """Send one request, within the time that one may take; it does not raise."""
        ...

    def close(self) -> None:
        """Let go of the connection; from another thread, it also ends what is being sent."""
        ...


def transport(to: Destination) -> Transport:
    """The transport of the destination's protocol."""
    return GrpcTransport(to) if to.protocol == "grpc" else HttpTransport(to)


def answered(body: bytes) -> Answer:
    """An answer of success, read for its partial success."""
    try:
        partial = ExportMetricsServiceResponse.FromString(body).partial_success
    except DecodeError:
        return Answer()
    return Answer(rejected=partial.rejected_data_points, why=_line(partial.error_message))


class HttpTransport:
    """Protobuf over HTTP/1.1, on one connection that is kept as long as the collector keeps it."""

    def __init__(self, to: Destination) -> None:
        """Nothing is connected before the first request."""
        self._to = to
        self._path = urlsplit(to.url).path or "/"
        self._headers = {
            "User-Agent": f"otel-attrib-agent/{__version__}",
            **to.headers,
            "Content-Type": "application/x-protobuf",
            **({"Content-Encoding": "gzip"} if to.gzip else {}),
        }
        self._connection: http.client.HTTPConnection | None = None
        # Kept beside the connection, which forgets it when the answer ends with it, and before that is read.
        self._sock: socket.socket | None = None
        self._late = False

    @property
    def where(self) -> str:
        """The URL."""
        return self._to.url

    def send(self, body: bytes) -> Answer:
        """Post it."""
        packed = gzip.compress(body, _FASTEST, mtime=0) if self._to.gzip else body
        # A socket's own timeout is of each byte: a collector that sends one now and then would never meet it.
        self._late = False
        clock = Timer(self._to.timeout_s, self._expire)
        clock.daemon = True
        clock.start()
        try:
            response, said = self._asked(packed)
        except (OSError, ValueError, http.client.HTTPException) as fault:
            self.close()
            return Answer(again=True, kept=False, why=_line(str(fault)) or type(fault).__name__)
        finally:
            clock.cancel()
        if response.status == 200:
            return answered(said)
        why = _line(f"HTTP {response.status} {response.reason}")
        if response.status in _AGAIN:
            return Answer(True, _retry_after(response.getheader("Retry-After")), False, why=why)
        return Answer(kept=False, why=why)

    def close(self) -> None:
        """Close the connection."""
        self._cut()
        if (connection := self._connection) is not None:
            self._connection = None
            connection.close()

    def _asked(self, packed: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connected()
        if connection.sock is None:
            connection.connect()
        self._sock = connection.sock
        connection.request("POST", self._path, packed, self._headers)
        response = connection.getresponse()
        said = response.read(_MOST_SAID)
        if not response.isclosed():
            response.close()
            self.close()
        if self._late:  # what was cut off can look like an answer that is short
            raise TimeoutError("timed out")
        return response, said

    def _expire(self) -> None:
        self._late = True
        self._cut()

    def _cut(self) -> None:
        """End the connection for whoever reads or writes it now."""
        if (sock := self._sock) is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is not None and _is_closed(self._connection):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        where = urlsplit(self._to.url)
        if where.scheme == "http":
            return http.client.HTTPConnection(str(where.hostname), where.port, timeout=self._to.timeout_s)
        context = ssl.create_default_context(cafile=self._to.certificate or None)
        return http.client.HTTPSConnection(
            str(where.hostname), where.port, timeout=self._to.timeout_s, context=context
        )


class GrpcTransport:
    """The same bytes as a unary call; grpcio connects, and reconnects, by itself."""

    def __init__(self, to: Destination) -> None:
        """Make the channel."""
        import grpc

        where = urlsplit(to.url)
        target = f"{where.hostname}:{where.port or 4317}"
        packing = grpc.Compression.Gzip if to.gzip else grpc.Compression.NoCompression
        self._grpc = grpc
        self._to = to
        self._channel = (
            grpc.insecure_channel(target, compression=packing)
            if where.scheme == "http"
            else grpc.secure_channel(target, _credentials(grpc, to.certificate), compression=packing)
        )
        self._call: Any = self._channel.unary_unary(_METHOD)

    @property
    def where(self) -> str:
        """The URL."""
        return self._to.url

    def send(self, body: bytes) -> Answer:
        """Call."""
        try:
            said = self._call(body, timeout=self._to.timeout_s, metadata=tuple(self._to.headers.items()))
        except self._grpc.RpcError as fault:
            return self._failed(fault)
        return answered(said)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _failed(self, fault: Any) -> Answer:
        code, wait_s = fault.code().name, _retry_delay(fault)
        again = code in _GRPC_AGAIN or (code == "RESOURCE_EXHAUSTED" and wait_s is not None)
        return Answer(again, wait_s, False, why=_line(f"{code}: {fault.details() or ''}"))


def _credentials(grpc: Any, certificate: str) -> Any:
    if not certificate:
        return grpc.ssl_channel_credentials()
    with open(certificate, "rb") as file:
        return grpc.ssl_channel_credentials(file.read())


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Between two requests nothing is to be read but the end of the connection."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number or a date; None for what is neither, or no time that can be waited."""
    if text is None:
        return None
    try:
        asked = float(text)
        return asked if math.isfinite(asked) and asked >= 0 else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _line(said: str) -> str:
    """A stranger's words as they may stand in a log: one line, printable, not long."""
    return " ".join("".join(each if each.isprintable() else " " for each in said).split())[:_WORDS]


def _retry_delay(fault: Any) -> float | None:
    """What a RetryInfo in the status says, in seconds."""
    from google.rpc.error_details_pb2 import RetryInfo
    from google.rpc.status_pb2 import Status

    for key, value in fault.trailing_metadata() or ():
        if key == _DETAILS:
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None
