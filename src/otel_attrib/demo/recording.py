"""A run kept in one file: the story, what the clients saw, and every OTLP body as it was sent.

Format: gzip over lines and bytes. The first line is a JSON object (story, outcomes); after it each
body is its length as four bytes, big end first, and its bytes. The bodies are the real
server's exports, byte for byte; only when shown again are their times moved to now.
"""

import gzip
import json
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Self

from otel_attrib.demo.client import Exchange
from otel_attrib.demo.replay import Outcome
from otel_attrib.demo.story import Story
from otel_attrib.errors import DataError

__all__ = ["Recording", "Tap", "batched", "load_recording", "shifted_body"]

SHIPPED = "recording.gz"
LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Recording:
    """One run: what was done, what the clients saw, what the server exported."""

    story: Story
    outcomes: tuple[Outcome, ...]
    bodies: tuple[bytes, ...]

    def save(self, path: Path) -> None:
        """Write it."""
        head = {"story": self.story.as_dict(), "outcomes": [_slim(outcome) for outcome in self.outcomes]}
        # No time of writing inside: the same run makes the same file.
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(json.dumps(head, separators=(",", ":")).encode() + b"\n")
            for body in self.bodies:
                file.write(LENGTH.pack(len(body)) + body)


def _slim(outcome: Outcome) -> dict[str, object]:
    """Leave out the stamps of every later event, which nothing compares."""
    told = asdict(outcome)
    told["seen"]["events_ns"] = told["seen"]["events_ns"][:1]
    return told


def load_recording(path: Path | None = None) -> Recording:
    """Read a recording, the shipped one unless another is named."""
    source = files("otel_attrib.demo").joinpath("data", SHIPPED) if path is None else path
    try:
        data = gzip.decompress(source.read_bytes())
        head, _, rest = data.partition(b"\n")
        told = json.loads(head)
        outcomes = tuple(Outcome(**{**row, "seen": Exchange(**row["seen"])}) for row in told["outcomes"])
        return Recording(Story.from_dict(told["story"]), outcomes, tuple(_bodies(rest)))
    except FileNotFoundError as fault:
        raise DataError(f"recording {source} is missing") from fault
    except (OSError, EOFError, ValueError, KeyError, TypeError, struct.error) as fault:
        raise DataError(f"{source} is no recording of the demonstration: {fault}") from fault


def _bodies(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (length,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        yield data[at : at + length]
        at += length


def shifted_body(body: bytes, by_ns: int) -> bytes:
    """Return an export with every time moved by `by_ns`."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    export = ExportTraceServiceRequest.FromString(body)
    for resource in export.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                span.start_time_unix_nano += by_ns
                span.end_time_unix_nano += by_ns
                for event in span.events:
                    event.time_unix_nano += by_ns
    return export.SerializeToString()


def batched(bodies: Sequence[bytes], size: int) -> Iterator[bytes]:
    """Yield exports of at least `size` bytes: in protobuf, two end to end are one with the spans of both."""
    held: list[bytes] = []
    for body in bodies:
        held.append(body)
        if sum(map(len, held)) >= size:
            yield b"".join(held)
            held = []
    if held:
        yield b"".join(held)


class Tap:
    """An OTLP/HTTP listener that keeps each body and passes it on to `target`, answer included."""

    def __init__(self, target: str) -> None:
        """Listen on a free loopback port."""
        self.bodies: list[bytes] = []
        self.target = target
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Return the endpoint to export to."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        tap = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                status, answer = tap.forward(self.path, kept, self.headers["Content-Type"])
                if status == 200:
                    tap.bodies.append(kept)
                self.send_response(status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        return Handler

    def forward(self, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        """Pass a body on; return status and answer."""
        request = urllib.request.Request(self.target + path, body, {"Content-Type": kind}, method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except OSError:
            return 503, b""

    def __enter__(self) -> Self:
        """Return the listening tap."""
        return self

    def __exit__(self, *fault: object) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
