"""Round trip, shut windows, send queues and retransmits of the engine's own TCP connections.

By NETLINK_SOCK_DIAG, as `ss` does it: unprivileged in this process's network namespace; of an engine in
another one as root only, which is said once. See `tcp_account` for what is counted and `socket_owners` for
whose connections.

Cost: see `socket_diag`; 100 connections take 1 ms at each reading.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from otel_attrib.collector.agent.processes import EngineProcesses, shared_processes
from otel_attrib.collector.agent.source import Reading, Unavailable
from otel_attrib.collector.sources.interface_addresses import interface_of_address
from otel_attrib.collector.sources.netlink import ROUTE, SOCK_DIAG, Netlink
from otel_attrib.collector.sources.network_namespaces import Namespace, namespaces_of
from otel_attrib.collector.sources.socket_diag import TcpSocket, tcp_sockets
from otel_attrib.collector.sources.socket_owners import SocketOwners
from otel_attrib.collector.sources.tcp_account import TcpAccount

__all__ = ["KernelSockets", "SocketView", "TcpConnections"]

_log = logging.getLogger(__name__)
_ADDRESSES_EVERY_S = 60.0


class SocketView(Protocol):
    """The TCP sockets and the addresses of one network namespace."""

    def sockets(self) -> list[TcpSocket]:
        """Return every socket."""
        ...

    def interfaces(self) -> Mapping[str, str]:
        """Return address → interface."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...


class KernelSockets:
    """A namespace as the kernel tells it."""

    def __init__(self, namespace: Namespace | None = None) -> None:
        """Open it; OSError where another namespace may not be entered."""
        where = None if namespace is None or namespace.own else namespace.folder.parent / "ns" / "net"
        self._diag = Netlink(SOCK_DIAG, where)
        self._route = Netlink(ROUTE, where)
        self._interfaces: Mapping[str, str] = {}
        self._due = float("-inf")

    def sockets(self) -> list[TcpSocket]:
        """Return every socket that listens or is connected."""
        return list(tcp_sockets(self._diag))

    def interfaces(self) -> Mapping[str, str]:
        """Return address → interface, asked for once a minute."""
        if (now := time.monotonic()) >= self._due:
            self._interfaces, self._due = interface_of_address(self._route), now + _ADDRESSES_EVERY_S
        return self._interfaces

    def close(self) -> None:
        """Close both sockets."""
        self._diag.close()
        self._route.close()


class TcpConnections:
    """The engine's TCP connections by interface, in every network namespace that an engine is in."""

    name = "tcp_connections"
    every_s = 1.0

    def __init__(
        self,
        proc: Path = Path("/proc"),
        processes: EngineProcesses | None = None,
        view: Callable[[Namespace], SocketView] = KernelSockets,
    ) -> None:
        """Find who is where below `proc`; `view` shows the sockets of a namespace."""
        if view is KernelSockets:
            _try_kernel()
        self._proc = proc
        self._processes = processes or shared_processes()
        self._view = view
        self._networks: dict[str, _Network] = {}
        self._refused: set[str] = set()
        self._said: set[str] = set()

    def read(self) -> Iterable[Reading]:
        """Return totals since the first look and levels now; nothing while no engine runs."""
        return list(self._read())

    def close(self) -> None:
        """Close every namespace."""
        for network in self._networks.values():
            network.close()
        self._networks.clear()

    def _read(self) -> Iterator[Reading]:
        there = {
            found.name: found
            for found in namespaces_of(self._processes.current(), self._proc)
            if found.processes and found.name not in self._refused
        }
        for gone in self._networks.keys() - there.keys():
            self._networks.pop(gone).close()
        for name, namespace in there.items():
            if network := self._network(name, namespace):
                yield from network.read(namespace)

    def _network(self, name: str, namespace: Namespace) -> "_Network | None":
        if name not in self._networks:
            try:
                self._networks[name] = _Network(
                    name, self._view(namespace), SocketOwners(self._proc, said=self._said)
                )
            except FileNotFoundError:  # its process ended
                return None
            except OSError as fault:
                self._refused.add(name)
                _log.warning(
                    "the connections of pid %d are in another network namespace (%s): "
                    "run the agent as root, or in that namespace",
                    namespace.processes[0].pid,
                    fault.strerror or fault,
                )
        return self._networks.get(name)


class _Network:
    def __init__(self, name: str, view: SocketView, owners: SocketOwners) -> None:
        self._view = view
        self._owners = owners
        self._account = TcpAccount(name)

    def read(self, namespace: Namespace) -> list[Reading]:
        sockets = self._view.sockets()
        owned = self._owners.owned(sockets, namespace.processes)
        return self._account.take(sockets, owned, self._view.interfaces())

    def close(self) -> None:
        self._view.close()


def _try_kernel() -> None:
    try:
        netlink = Netlink(SOCK_DIAG)
        try:
            list(tcp_sockets(netlink))
        finally:
            netlink.close()
    except OSError as fault:
        raise Unavailable(
            f"this kernel does not tell of TCP sockets ({fault.strerror or fault}): modprobe tcp_diag"
        ) from fault
