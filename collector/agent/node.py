"""The whole agent of a node, made from the settings: sources, export, and the board for spans."""

import logging
from collections.abc import Mapping, Sequence

from otel_attrib.collector.agent.agent import Agent, plan_of
from otel_attrib.collector.agent.board import Board
from otel_attrib.collector.agent.export import Export
from otel_attrib.collector.agent.opening import Makers
from otel_attrib.collector.agent.presence import Presence
from otel_attrib.collector.agent.resource import node_resource
from otel_attrib.collector.agent.sink import Sink
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.agent.transport import Transport
from otel_attrib.collector.sources.scrape.endpoints import shared_endpoints
from otel_attrib.config import Settings

__all__ = ["NodeAgent"]

_log = logging.getLogger(__name__)


class NodeAgent:
    """Reads this machine and sends; `start` and `stop`."""

    def __init__(
        self,
        settings: Settings,
        to: Transport,
        environ: Mapping[str, str],
        alone: bool = True,
        sources: Makers | None = None,
    ) -> None:
        """Send through `to`; not `alone` in its process, only its own threads count as its cost."""
        shared_endpoints().give(settings.scrape, settings.scrape_token)
        self.export = Export(to, node_resource(environ), settings.agent_send)
        self._board = _board()
        self._presence: Presence | None = None
        sinks: Sequence[Sink] = [self.export, *([self._board] if self._board else [])]
        self.agent = Agent(
            plan_of(settings),
            sinks,
            sources,
            cpu_s=None if alone else self._threads_cpu_s,
            lost=lambda: dict(self.export.counts.lost),
        )

    def start(self) -> None:
        """Begin."""
        self._presence = Presence()
        if self._presence.other is not None:
            _log.warning(
                "another agent%s reads this machine already, and every counter is written twice: "
                "leave one out, as with `up --no-agent`",
                f" (pid {self._presence.other})" if self._presence.other else "",
            )
        self.export.start()
        self.agent.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End the reads, send what is left, and take the board away."""
        self.agent.stop(seconds / 2)
        self.export.stop(seconds / 2)
        if self._board:
            self._board.close()
        if self._presence:
            self._presence.close()

    def _threads_cpu_s(self) -> float:
        return self.agent.lanes_cpu_s + self.export.counts.cpu_s


def _board() -> Board | None:
    try:
        return Board()
    except Unavailable as lack:
        _log.info("board: %s", lack)
        return None
