"""A running OTLP receiver for tests: real sockets and a real spool, and a list where the store would be."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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
        return [record.payload for segment in self.segments for record in read(segment.path)[0]]

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
