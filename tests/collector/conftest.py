"""A running OTLP receiver for tests: real sockets and a real spool, and a list where the store would be."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from otel_attrib.collector.counters import Counters
from otel_attrib.collector.grpc import listen
from otel_attrib.collector.http import otlp_http
from otel_attrib.collector.listener import Listener, bind
from otel_attrib.collector.receiver import Receiver
from otel_attrib.collector.segment import Segment, read
from otel_attrib.collector.spool import Spool
from otel_attrib.config import Settings


class Service:
    """Receiver, both listeners and the spool, on an event loop in a thread of its own."""

    def __init__(self, directory: Path, **values: Any) -> None:
        """Serve until `stop`."""
        self.settings = Settings(
            **{"otlp_grpc_port": 0, "otlp_http_port": 0, "block_seconds": 0.01, "otlp_timeout": 5.0, **values}
        )
        self.counters = Counters()
        self.segments: list[Segment] = []
        self.spool = Spool(directory, self.settings, self.counters, self.segments.append)
        self.spool.start()
        self.receiver = Receiver(self.settings, self.spool, self.counters)
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.thread.start()
        assert self.ready.wait(10)

    async def _serve(self) -> None:
        self.ending = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        server, self.grpc_port = await listen(self.receiver, self.settings)
        listener = Listener(
            otlp_http(self.receiver, self.settings.cors_origins),
            bind("127.0.0.1", 0, "otlp-http"),
            self.settings.tls_cert,
            self.settings.tls_key,
        )
        await listener.start()
        self.http_port = listener.port
        self.ready.set()
        await self.ending.wait()
        await asyncio.gather(server.stop(1), listener.stop())

    def stop(self) -> None:
        """End, and close every segment."""
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.ending.set)
            self.thread.join()
            self.spool.stop()

    @property
    def url(self) -> str:
        """Where HTTP is."""
        return f"{'https' if self.settings.tls_cert else 'http'}://127.0.0.1:{self.http_port}"

    @property
    def kept(self) -> list[bytes]:
        """Every payload kept, after the end."""
        self.stop()
        return [record.payload for segment in self.segments for record in read(segment.path)]

    def total(self, name: str, **labels: str) -> float:
        """One counter."""
        shown = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        return self.counters.totals().get(f"{name}{{{shown}}}", 0.0)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start a service with settings of the test's own; all are stopped at the end."""
    with ExitStack() as stack:

        def start(**values: Any) -> Service:
            service = Service(tmp_path / "spool", **values)
            stack.callback(service.stop)
            return service

        yield start


@pytest.fixture
def service(serve: Callable[..., Service]) -> Service:
    """A service with the default limits."""
    return serve()


class Up:
    """`otel-attrib up` as a process of its own, on free ports."""

    def __init__(self, directory: Path, *options: str, **environment: str) -> None:
        """Start it and wait until it serves; what it says on stderr goes to `up.log`."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.log = directory / "up.log"
        ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
        dsn = (
            ()
            if any(option.startswith("--dsn") for option in options)
            else (f"--dsn=chdb://{directory}/store",)
        )
        command = [sys.executable, "-m", "otel_attrib", "up", "--json", *ports, *dsn, *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env={**_CLEAN, **environment}, cwd=directory
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.ready: dict[str, Any] = json.loads(line)

    def __getitem__(self, name: str) -> str:
        """One of its addresses."""
        return str(self.ready[name])

    def query(self, sql: str) -> str:
        """The result as tab-separated text."""
        answer = httpx.post(self["clickhouse"], content=sql, timeout=60)
        assert 200 == answer.status_code, answer.text
        return answer.text.strip()

    def wait_for(self, sql: str, expected: str, seconds: float = 60) -> None:
        """Until the statement gives what is expected."""
        end = time.monotonic() + seconds
        while (found := self.query(sql)) != expected and time.monotonic() < end:
            time.sleep(0.05)
        assert expected == found

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        answer: dict[str, Any] = httpx.get(f"{self['http']}/api/v1/status", timeout=20).json()
        return answer

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


_CLEAN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "OTEL_ATTRIB_AGENT": "off"}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Up]]:
    """Start services in directories of one's own; all that live at the end are killed."""
    with ExitStack() as stack:

        def start(*options: str, directory: Path | None = None, **environment: str) -> Up:
            service = Up(directory or tmp_path_factory.mktemp("up"), *options, **environment)
            stack.callback(service.kill)
            return service

        yield start
