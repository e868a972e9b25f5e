"""The service: receiver, spool, writer, store and their ports, and the agent of this node, in one process.

The embedded store admits one process, so everything that needs it lives here. What was acknowledged is
in the spool or in the store at every moment; stopping drains the one into the other as far as time
allows, and the next start does the rest.
"""

import asyncio
import gc
import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import ASGIApp

from otel_attrib.collector.agent.inside import Inside
from otel_attrib.collector.agent.node import NodeAgent
from otel_attrib.collector.clickhouse_http import ClickHouseHttp
from otel_attrib.collector.counters import Counters
from otel_attrib.collector.grpc import listen
from otel_attrib.collector.http import otlp_http
from otel_attrib.collector.listener import Listener, bind
from otel_attrib.collector.quarantine import Quarantine
from otel_attrib.collector.receiver import Receiver
from otel_attrib.collector.spool import Spool
from otel_attrib.collector.spool_lock import SpoolLock, spool_directory
from otel_attrib.collector.status import status_app
from otel_attrib.collector.store_link import StoreLink
from otel_attrib.collector.writer import Writer
from otel_attrib.config import Settings
from otel_attrib.schema.dsn import MEMORY, Dsn, default_dsn, parse_dsn
from otel_attrib.schema.store import Store

__all__ = ["Beside", "Face", "Inner", "Ready", "serve", "status_face"]

_log = logging.getLogger(__name__)

# What an engine that hangs cannot stop comes this long after `stop_seconds`: first with a word in the log.
_LAST_WORD_SECONDS, _ALARM_SECONDS = 5.0, 10

# What the agent has to read and send its last when the service stops, and what stands beside it to end.
_AGENT_SECONDS = 2.0
_BESIDE_SECONDS = 2.0

# Called once with the addresses by name: otlp_grpc, otlp_http, clickhouse, http.
Ready = Callable[[Mapping[str, str]], None]


@dataclass(frozen=True, slots=True)
class Inner:
    """What the service has, for the application of its HTTP port and for what lives beside it.

    `store` gives the open store or raises `StoreError`; `trouble` says why it does not answer, or nothing;
    `addresses` are the ports by name, as `Ready` gets them.
    """

    settings: Settings
    store: Callable[[], Store]
    trouble: Callable[[], str]
    database: str
    counters: Counters
    addresses: Mapping[str, str]


class Beside(Protocol):
    """Something that lives as long as the service does."""

    def start(self) -> None:
        """Begin; called once every port answers."""

    def stop(self, seconds: float) -> None:
        """End within `seconds`; called in a thread, before the ports close."""


Face = Callable[[Inner], tuple[ASGIApp, Sequence[Beside]]]
"""Makes the application of the HTTP port, and what lives beside the service."""


def status_face(inner: Inner) -> tuple[ASGIApp, Sequence[Beside]]:
    """Status, counters and health alone."""
    return status_app(inner.addresses, inner.database, inner.counters, inner.trouble), ()


def serve(settings: Settings, ready: Ready, face: Face = status_face) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was accepted.

    `face` makes what the HTTP port answers with, and what lives as long as the service. From the signal on
    the process has `stop_seconds` and a few more: then it is ended, whatever hangs.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, ready, face))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: about a tenth less time for a small request."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


@dataclass(slots=True)
class _Parts:
    """What stands behind the ports."""

    link: StoreLink
    counters: Counters
    spool: Spool
    writer: Writer
    receiver: Receiver


async def _serve(settings: Settings, ready: Ready, face: Face) -> None:
    stopped = _on_signals(settings.stop_seconds)
    dsn = parse_dsn(settings.dsn or default_dsn())
    with ExitStack() as stack:
        parts = _parts(settings, dsn, stack)
        sockets = _sockets(settings, dsn, stack)
        queries = parts.link.clickhouse(settings, parts.counters) if dsn.embedded else None
        grpc_server, grpc_port = await listen(parts.receiver, settings)
        listeners, addresses = _listeners(settings, parts, queries, sockets, grpc_port)
        app, living = face(_inner(settings, parts, addresses))
        listeners.append(Listener(app, sockets["http"]))
        agent = _agent(settings, parts.receiver) if settings.agent else None
        try:
            for listener in listeners:
                await listener.start()
            parts.spool.start()
            parts.writer.start()
            # What is alive now stays: the collector of cycles need not look at it again.
            gc.freeze()
            ready(addresses)
            for each in living:
                each.start()
            if agent:
                agent.start()
            await stopped.wait()
        finally:
            await _end_beside(living)
            if agent:
                await _within(
                    _AGENT_SECONDS + 1, "ending the agent", asyncio.to_thread(agent.stop, _AGENT_SECONDS)
                )
            parts.receiver.stop()
            await _stop(parts, queries, (grpc_server.stop(5), *(each.stop() for each in listeners)), settings)


async def _end_beside(living: Sequence[Beside]) -> None:
    """End all of them at once, whether or not they began; one that fails holds nothing up."""

    async def end(each: Beside) -> None:
        try:
            await asyncio.to_thread(each.stop, _BESIDE_SECONDS)
        except Exception:
            _log.exception("ending %s failed", type(each).__name__)

    ends = asyncio.gather(*(end(each) for each in living))
    await _within(_BESIDE_SECONDS + 1, "ending what is beside the service", ends)


async def _stop(
    parts: _Parts, queries: ClickHouseHttp | None, ports: Iterable[Awaitable[None]], settings: Settings
) -> None:
    """Close the ports, then bring the spool into the store; nothing of it may hold up the rest."""
    end = time.monotonic() + settings.stop_seconds
    if queries:
        await _within(2, "ending the statements", asyncio.to_thread(queries.cancel))
    await _within(end - time.monotonic(), "closing the ports", asyncio.gather(*ports))
    if queries:
        await _within(2, "closing the sessions", asyncio.to_thread(queries.close))
    await asyncio.to_thread(_drain, parts, max(end - time.monotonic(), 0.0))


async def _within(seconds: float, what: str, work: Awaitable[object]) -> None:
    try:
        await asyncio.wait_for(work, max(seconds, 0.5))
    except TimeoutError:
        _log.warning("%s takes too long: stopping goes on without it", what)


def _on_signals(seconds: float) -> asyncio.Event:
    """Set by the first signal; the second ends the process at once, and the spool keeps the rest."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(number: int) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        _end_after(seconds)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    return stopped


def _end_after(seconds: float) -> None:
    """End the process some time after `seconds`, even from within an engine that never returns."""
    timer = threading.Timer(seconds + _LAST_WORD_SECONDS, _end_now)
    timer.daemon = True
    timer.start()
    # Should the interpreter itself be stuck, the kernel does it.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds) + _ALARM_SECONDS)


def _end_now() -> None:
    _log.error("the store does not let go: the process ends without it, the spool has the rest")
    logging.shutdown()
    os._exit(1)


def _parts(settings: Settings, dsn: Dsn, stack: ExitStack) -> _Parts:
    directory = spool_directory(settings.spool, dsn)
    stack.callback(SpoolLock(directory, dsn.shown).release)
    if dsn.path == MEMORY and not settings.spool:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
    link = StoreLink(dsn)
    stack.callback(link.close)
    counters = Counters()
    quarantine = Quarantine(directory / "quarantine", counters)
    done: list[Callable[[Any], None]] = []
    writer = Writer(link.inserts(), lambda segment: done[0](segment), quarantine, counters, settings.writers)
    spool = Spool(directory, settings, counters, writer.submit, writer.is_busy)
    done.append(spool.done)
    return _Parts(link, counters, spool, writer, Receiver(settings, spool, counters))


def _agent(settings: Settings, receiver: Receiver) -> NodeAgent:
    return NodeAgent(settings, Inside(receiver, asyncio.get_running_loop()), os.environ, alone=False)


def _sockets(settings: Settings, dsn: Dsn, stack: ExitStack) -> dict[str, socket.socket]:
    ports = {"otlp-http": settings.otlp_http_port, "http": settings.http_port}
    if dsn.embedded:
        ports["clickhouse"] = settings.clickhouse_port
    return {name: stack.enter_context(bind(settings.host, port, name)) for name, port in ports.items()}


def _listeners(
    settings: Settings,
    parts: _Parts,
    queries: ClickHouseHttp | None,
    sockets: Mapping[str, socket.socket],
    grpc_port: int,
) -> tuple[list[Listener], dict[str, str]]:
    otlp = Listener(
        otlp_http(parts.receiver, settings.cors_origins),
        sockets["otlp-http"],
        settings.tls_cert,
        settings.tls_key,
    )
    secure = "s" if settings.tls_cert else ""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    addresses = {
        "otlp_grpc": f"http{secure}://{host}:{grpc_port}",
        "otlp_http": f"http{secure}://{host}:{otlp.port}",
        "clickhouse": parts.link.address,
    }
    listeners = [otlp]
    if queries:
        listeners.append(Listener(queries, sockets["clickhouse"]))
        addresses["clickhouse"] = f"http://{host}:{listeners[-1].port}"
    addresses["http"] = f"http://{host}:{sockets['http'].getsockname()[1]}"
    return listeners, addresses


def _inner(settings: Settings, parts: _Parts, addresses: Mapping[str, str]) -> Inner:
    link = parts.link
    return Inner(settings, link.store, link.trouble, link.dsn.database, parts.counters, addresses)


def _drain(parts: _Parts, seconds: float) -> None:
    parts.spool.stop()
    if not parts.writer.stop(seconds):
        _log.warning("the store did not take everything in time: the rest is in the spool for the next start")
