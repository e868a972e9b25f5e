"""How long packets of the engine's ports wait between their arrival and the read that takes them, by tenant.

A classifier at the entry of the interfaces notes when a packet of data came; the read of its connection by
the engine ends the wait of all that came before it. What is in it: the kernel's receive path, the wait for
a processor, and an event loop that is late. What is not: the wait in the card's ring, before the kernel
has it. Packets that the card or the kernel has merged count as one; a read that leaves data behind ends
the wait of that as well; a segment that is sent again counts once; a packet that comes in the very moment
of the read may be left out.

It only observes: every packet passes with no verdict. On Linux 6.6 and newer the classifier is a link that
the kernel takes away when this process ends, however it ends; before, a shell stands by that removes it
(`clsact`). Needs Linux 6.3 with its type information and CAP_NET_ADMIN. Cost: 1.4 µs a request and its
answer, and a look at every other packet.
"""

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Reading, Unavailable
from otel_attrib.collector.sources.ebpf.clsact import ClsactFilter
from otel_attrib.collector.sources.ebpf.features import CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON
from otel_attrib.collector.sources.ebpf.interfaces import addressed_interfaces
from otel_attrib.collector.sources.ebpf.loader import Tool, load
from otel_attrib.collector.sources.ebpf.socket_layout import socket_layout
from otel_attrib.collector.sources.ebpf.tcx import attach_ingress, lacks_tcx
from otel_attrib.collector.sources.ebpf.watched_flows import DEFINES, LOOK_S, MAPS, WatchedFlows

__all__ = ["TOOL", "Ingress"]

TOOL = Tool(
    Path(__file__).with_name("ingress.c"),
    maps={**MAPS, "delays": ("HH", "QQ")},
    raw_tracepoints={
        "tcp_probe": "on_data",
        "sock_recv_length": "on_read",
        "inet_sock_set_state": "on_state",
    },
    classifiers=("classify",),
    capabilities=(CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN),
)
"""What is loaded."""


class Ingress:
    """Delay between a packet's arrival and its read, by port and tenant."""

    name = "tc_ingress"
    every_s = 1.0

    def __init__(
        self,
        processes: EngineProcesses | None = None,
        proc: Path = Path("/proc"),
        tenants: Mapping[str, str] | None = None,
        interfaces: Sequence[str] | None = None,
        look_s: float = LOOK_S,
        *,
        links: bool = True,
    ) -> None:
        """Watch these interfaces, or all that have an address; without `links` as kernels before 6.6 do."""
        names = addressed_interfaces() if interfaces is None else interfaces
        self._links: list[int] = []
        self._filters: list[ClsactFilter] = []
        self._program = load(TOOL, {**DEFINES, **socket_layout(TOOL)})
        try:
            self._watched = WatchedFlows(self._program, processes, proc, tenants, look_s)
            for name in names:
                self._attach(name, links)
        except BaseException:
            self.close()
            raise

    def read(self) -> Iterator[Reading]:
        """Give the totals since the start."""
        self._watched.look()
        of = self._watched.series
        for (port, tenant), (packets, ns) in self._program.maps["delays"].items():
            yield of("flow_packets", port, tenant), float(packets)
            yield of("flow_delay_time", port, tenant), ns / 1e9

    def close(self) -> None:
        """Take the classifiers and the program away."""
        while self._links:
            os.close(self._links.pop())
        while self._filters:
            self._filters.pop().close()
        self._program.close()

    def _attach(self, interface: str, links: bool) -> None:
        classifier = self._program.functions["classify"]
        try:
            if links and self._linked(socket.if_nametoindex(interface), classifier):
                return
            self._filters.append(ClsactFilter(interface, classifier))
        except OSError as fault:
            raise Unavailable(f"no classifier at the entry of {interface}: {fault}") from fault

    def _linked(self, interface: int, classifier: int) -> bool:
        """Attach by a link; False where the kernel is too old for one."""
        try:
            self._links.append(attach_ingress(interface, classifier))
        except OSError as fault:
            if lacks_tcx(fault):
                return False
            raise
        return True
