"""What the engine's TCP connections say of the network and of its readers, by interface.

A *client* is a connection that the engine accepted and whose other end is not the engine's own: ranks that
talk to each other, and what the engine opened itself, count for retransmits alone. Totals are what has been
added since the first look at a connection; what happens between its last look and its end is not in them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources.socket_diag import LISTENING, TcpSocket

__all__ = ["TcpAccount"]

_TOTALS = ("interface_retransmits", "tcp_zero_window", "receive_window_limited")
_LEVELS = ("send_queue", "tcp_rtt")
_NEW = TcpSocket(b"", 0, "", 0, "", 0, 0, 0, 0, 0, False)


@dataclass(slots=True)
class _Side:
    """One interface: totals since the beginning, and the levels of this look."""

    series: dict[str, Series]
    retransmits: float = 0.0
    shut: int = 0
    limited_s: float = 0.0
    queued: int = 0
    round_trips: tuple[float, ...] = ()


class TcpAccount:
    """Follows the connections of one network namespace from look to look."""

    def __init__(self, namespace: str) -> None:
        """Name the namespace in every series."""
        self._namespace = namespace
        self._before: dict[bytes, TcpSocket] = {}
        self._first = True
        self._sides: dict[str, _Side] = {}
        self._waiting = series("accept_queue", slatag__net__namespace=namespace)

    def take(
        self, sockets: Iterable[TcpSocket], owned: Iterable[TcpSocket], interfaces: Mapping[str, str]
    ) -> list[Reading]:
        """Return the readings of one look at all `sockets`; `interfaces` is address → name."""
        held = {found.identity for found in owned}
        listening = [found for found in sockets if found.state == LISTENING and found.identity in held]
        ports = {found.local_port for found in listening}
        mine = [
            found
            for found in sockets
            # What waits to be accepted is held by nobody yet.
            if found.state != LISTENING and (found.identity in held or found.local_port in ports)
        ]
        ends = {(found.local, found.local_port) for found in mine}
        for side in self._sides.values():
            side.queued, side.round_trips = 0, ()
        for found in mine:
            client = found.local_port in ports and (found.remote, found.remote_port) not in ends
            self._count(self._side(_interface(found.local, interfaces)), found, client)
        self._before = {found.identity: found for found in mine}
        self._first = False
        waiting = (
            [(self._waiting, float(sum(found.receive_queue for found in listening)))] if listening else []
        )
        return [*self._readings(), *waiting]

    def _count(self, side: _Side, found: TcpSocket, client: bool) -> None:
        before = self._before.get(found.identity)
        # Of a connection that was there before the first look only what is added counts.
        since = found if self._first else before or _NEW
        side.retransmits += _increase(found.retransmits, since.retransmits)
        if not client:
            return
        side.limited_s += _increase(found.window_limited_s, since.window_limited_s)
        side.shut += found.shut and not (before is not None and before.shut)
        side.queued += found.send_queue
        if found.rtt_s and _moved(found, before):
            side.round_trips += (found.rtt_s,)

    def _readings(self) -> Iterator[Reading]:
        for side in self._sides.values():
            yield side.series["interface_retransmits"], side.retransmits
            yield side.series["tcp_zero_window"], float(side.shut)
            yield side.series["receive_window_limited"], side.limited_s
            yield side.series["send_queue"], float(side.queued)
            if side.round_trips:
                yield side.series["tcp_rtt"], sum(side.round_trips) / len(side.round_trips)

    def _side(self, interface: str) -> _Side:
        if interface not in self._sides:
            named = {"network__interface__name": interface, "slatag__net__namespace": self._namespace}
            self._sides[interface] = _Side({key: series(key, **named) for key in (*_TOTALS, *_LEVELS)})
        return self._sides[interface]


def _increase(now: float | None, before: float | None) -> float:
    """Return what was added; 0 where the kernel does not say."""
    return 0.0 if now is None else max(0.0, now - (before or 0))


def _moved(found: TcpSocket, before: TcpSocket | None) -> bool:
    """Return whether bytes were acknowledged since the last look: a resting one's round trip is old."""
    return before is None or found.acknowledged is None or found.acknowledged != before.acknowledged


def _interface(address: str, interfaces: Mapping[str, str]) -> str:
    return interfaces.get(address) or ("lo" if address.startswith("127.") else "other")
