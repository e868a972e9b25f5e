"""Bytes, errors and drops of the interfaces of the engine's network, and TCP segments sent again in it.

From `/proc/<pid>/net/{dev,snmp,netstat}`, which show the namespace of that process and need no privilege. The
segments are those of the whole namespace; `tcp_connections` tells the engine's own by interface. Interfaces
that never carried a packet, and the near ends of other containers' (veth and the like), are left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources.held_file import HeldFile
from otel_attrib.collector.sources.network_namespaces import Namespace, namespaces_of

__all__ = ["Direction", "Network", "parse_interfaces", "parse_table"]

_OTHERS: Final = ("veth", "cali", "lxc", "tap", "tunl", "ifb")
_WAYS: Final = ("receive", "transmit")
_FIELDS: Final = 8
_KEYS: Final = ("network_bytes", "network_errors", "network_dropped")


@dataclass(frozen=True, slots=True)
class Direction:
    """What an interface has carried one way since it was made."""

    bytes: int
    packets: int
    errors: int
    dropped: int


def parse_interfaces(raw: bytes) -> dict[str, tuple[Direction, Direction]]:
    """Return name → what was received and what was sent, of a `net/dev`."""
    found = {}
    for line in raw.decode(errors="replace").splitlines()[2:]:
        name, colon, rest = line.rpartition(":")
        numbers = [int(word) for word in rest.split()] if colon else []
        if len(numbers) >= _FIELDS + 4:
            ways = numbers[:4], numbers[_FIELDS : _FIELDS + 4]
            found[name.strip()] = (Direction(*ways[0]), Direction(*ways[1]))
    return found


def parse_table(raw: bytes, protocol: str) -> dict[str, int]:
    """Return the counters of one protocol of a `net/snmp` or `net/netstat`; none where it is not told of."""
    lines = [line.split() for line in raw.decode(errors="replace").splitlines()]
    mine = [words[1:] for words in lines if words and words[0] == f"{protocol}:"]
    if len(mine) < 2:
        return {}
    return {name: int(value) for name, value in zip(mine[0], mine[1], strict=False)}


class Network:
    """Interfaces and TCP totals of every network namespace that an engine is in; else of this process's."""

    name = "network"
    every_s = 1.0

    def __init__(self, proc: Path = Path("/proc"), processes: EngineProcesses | None = None) -> None:
        """Read below `proc`."""
        self._proc = proc
        self._processes = processes or shared_processes()
        self._networks: dict[str, _Network] = {}

    def read(self) -> Iterable[Reading]:
        """Return what each interface and namespace has counted so far."""
        return list(self._read())

    def close(self) -> None:
        """Close every file."""
        for network in self._networks.values():
            network.close()
        self._networks.clear()

    def _read(self) -> Iterator[Reading]:
        there = {found.name: found for found in namespaces_of(self._processes.current(), self._proc)}
        for gone in self._networks.keys() - there.keys():
            self._networks.pop(gone).close()
        for name, namespace in there.items():
            try:
                if name not in self._networks:
                    self._networks[name] = _Network(namespace)
                yield from self._networks[name].read()
            except OSError:  # its process ended: another one shows it at the next reading
                if name in self._networks:
                    self._networks.pop(name).close()


class _Network:
    """One namespace, with its files open and its series made."""

    def __init__(self, namespace: Namespace) -> None:
        self._name = namespace.name
        self._interfaces = HeldFile(namespace.folder / "dev", small=False)
        self._tables = HeldFile(namespace.folder / "snmp", small=False)
        self._more = HeldFile(namespace.folder / "netstat", small=False)
        self._resent = series("tcp_retransmits", slatag__net__namespace=self._name)
        self._overflows = series("listen_overflows", slatag__net__namespace=self._name)
        self._series: dict[str, list[list[Series]]] = {}

    def read(self) -> Iterator[Reading]:
        for name, ways in parse_interfaces(self._interfaces.read()).items():
            if name.startswith(_OTHERS) or not any(way.packets for way in ways):
                continue
            for made, way in zip(self._of(name), ways, strict=True):
                yield from zip(made, map(float, (way.bytes, way.errors, way.dropped)), strict=True)
        if (resent := parse_table(self._tables.read(), "Tcp").get("RetransSegs")) is not None:
            yield self._resent, float(resent)
        if (refused := parse_table(self._more.read(), "TcpExt").get("ListenOverflows")) is not None:
            yield self._overflows, float(refused)

    def _of(self, interface: str) -> list[list[Series]]:
        if interface not in self._series:
            self._series[interface] = [
                [
                    series(
                        key,
                        network__interface__name=interface,
                        network__io__direction=way,
                        slatag__net__namespace=self._name,
                    )
                    for key in _KEYS
                ]
                for way in _WAYS
            ]
        return self._series[interface]

    def close(self) -> None:
        for file in (self._interfaces, self._tables, self._more):
            file.close()
