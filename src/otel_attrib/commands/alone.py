"""The API on a store elsewhere, in a process of its own: one port, no receiver."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial

from otel_attrib.analytics.exposition import Latencies
from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.analytics.service.app import Behind, Ending, service_app
from otel_attrib.collector.listener import Listener, bind
from otel_attrib.collector.status import status_for
from otel_attrib.collector.store_link import StoreLink
from otel_attrib.commands.face import page_folder, runbooks_folder
from otel_attrib.config import Settings
from otel_attrib.schema.dsn import Dsn

__all__ = ["serve_alone"]

_END_SECONDS = 2.0


def serve_alone(settings: Settings, dsn: Dsn, ready: Callable[[Mapping[str, str]], None]) -> None:
    """Serve until SIGTERM or SIGINT; a store that is down now is looked for with every question."""
    with closing(StoreLink(dsn)) as link:
        asyncio.run(_serve(settings, link, ready))


async def _serve(settings: Settings, link: StoreLink, ready: Callable[[Mapping[str, str]], None]) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    with bind(settings.host, settings.http_port, "http") as bound:
        addresses = _addresses(settings, link, bound.getsockname()[1])
        app = service_app(settings, _behind(settings, link, addresses))
        listener, ending = Listener(app, bound), Ending(app)
        await listener.start()
        ready(addresses)
        await stopped.wait()
        await asyncio.to_thread(ending.stop, _END_SECONDS)
        await listener.stop()


def _addresses(settings: Settings, link: StoreLink, port: int) -> dict[str, str]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return {"clickhouse": link.address, "http": f"http://{host}:{port}"}


def _behind(settings: Settings, link: StoreLink, addresses: Mapping[str, str]) -> Behind:
    status = partial(status_for, addresses=addresses, database=link.dsn.database, counters={})
    return Behind(
        store=link.store,
        trouble=link.trouble,
        status=status,
        metrics=(Latencies(link.store, settings.metrics_labels, SloFiles(settings.slo).objectives),),
        page=page_folder(),
        runbooks=runbooks_folder(),
        own=tuple(addresses.values()),
    )
