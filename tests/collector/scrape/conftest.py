"""Pages of exporters, and a server of ours that answers as well or as badly as a test says."""

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "fixtures/scrape"
Answer = Callable[[BaseHTTPRequestHandler], None]


def page(name: str) -> str:
    """One recorded or written page (SOURCE.md says which)."""
    return (PAGES / f"{name}.txt").read_text()


def plain(text: str, kind: str = "text/plain; version=0.0.4", **headers: str) -> Answer:
    """Answer 200 with this text."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


class Server:
    """A server whose next answers a test chooses; it keeps the headers of every request."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.answer: Answer = plain("")
        self.requests: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.requests.append({"path": self.path, **dict(self.headers)})
                try:
                    server.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that went away
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}/metrics"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def speak_tls(self, certificate: Path, key: Path) -> None:
        """Answer over TLS from now on; each handshake in the connection's own thread."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._http.socket = context.wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://127.0.0.1:{self.port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that runs for one test."""
    made = Server()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def run_cli() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `otel-attrib` in a process of its own, without settings of this one."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        command = [sys.executable, "-m", "otel_attrib", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=30, check=False)

    return run
