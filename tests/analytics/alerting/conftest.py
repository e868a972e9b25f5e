"""Real receivers of alerts: Alertmanager as its package has it, and a webhook that keeps what it gets."""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest


class Hook:
    """An HTTP server that keeps each body; `answers` are the statuses to give first, then 200."""

    def __init__(self, *answers: int) -> None:
        """Listen on a free port."""
        self.got: list[dict[str, Any]] = []
        self.raw: list[tuple[dict[str, str], bytes]] = []
        self.times: list[float] = []
        self._answers = list(answers)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = hook._answers.pop(0) if hook._answers else 200
                hook.times.append(time.time())
                hook.raw.append((dict(self.headers), body))
                if status == 200:
                    hook.got.append(json.loads(body))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        return Handler

    def wait_for(self, found: Callable[[list[dict[str, Any]]], Any], seconds: float = 15.0) -> Any:
        """Return what `found` makes of the bodies, once that is something."""
        end = time.monotonic() + seconds
        while not (result := found(list(self.got))) and time.monotonic() < end:
            time.sleep(0.02)
        assert result, self.got
        return result

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def hook() -> Iterator[Callable[..., Hook]]:
    """Start webhooks; all stop in the end."""
    with ExitStack() as stack:

        def start(*answers: int) -> Hook:
            made = Hook(*answers)
            stack.callback(made.stop)
            return made

        yield start


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


CONFIG = """
route:
  receiver: hook
  group_by: [service, model]
  group_wait: 100ms
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: hook
    webhook_configs:
      - url: {url}
        send_resolved: true
"""


@pytest.fixture(scope="module")
def alertmanager(
    program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., tuple[str, subprocess.Popen[bytes]]]]:
    """Start Alertmanagers that pass everything on to a webhook; returns address and process."""
    path = program("prometheus-alertmanager")
    with ExitStack() as stack:

        def start(url: str) -> tuple[str, subprocess.Popen[bytes]]:
            folder = tmp_path_factory.mktemp("alertmanager")
            (folder / "config.yml").write_text(CONFIG.format(url=url))
            port = free_port()
            command = [path, f"--config.file={folder}/config.yml", f"--storage.path={folder}/data"]
            command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
            log = stack.enter_context((folder / "log").open("wb"))
            process = subprocess.Popen(command, stdout=log, stderr=log)
            stack.callback(_end, process)
            _wait_until_ready(f"http://127.0.0.1:{port}/-/ready", folder / "log")
            return f"http://127.0.0.1:{port}", process

        yield start


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(20)


def _wait_until_ready(url: str, log: Path, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(url, timeout=2):
                return
        except (URLError, OSError):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
