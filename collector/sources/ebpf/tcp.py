"""TCP of the engine's ports as the kernel sees it: packets sent again, and the time to the first byte out.

The time runs from the arrival at TCP of a request's last packet to the end of the first write of the
answer, so it holds the wait for the server to read, the work, and the write. Every packet of data starts
it anew; the first write ends it; later writes of the same answer count nothing. It suits protocols in
which one request is followed by one answer: HTTP/1.x. With TLS each flight of the handshake counts as an
answer; HTTP/2 sends frames of its own. A streaming server may write its HTTP header before the first
token: then it is the header's.

Retransmits are those of the engine's own ports, `flow_retransmits`; the machine's are another source's.

Needs Linux 6.3 and its type information. Cost: 1.4 µs of both ends' CPU a request and
its answer.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.ebpf.loader import Tool, load
from otel_attrib.collector.sources.ebpf.socket_layout import socket_layout
from otel_attrib.collector.sources.ebpf.watched_flows import DEFINES, LOOK_S, MAPS, WatchedFlows

__all__ = ["TOOL", "Tcp"]

TOOL = Tool(
    Path(__file__).with_name("tcp.c"),
    maps={**MAPS, "answered": ("HH", "QQ"), "resent": ("HH", "Q")},
    raw_tracepoints={
        "tcp_probe": "on_data",
        "sock_send_length": "on_sent",
        "inet_sock_set_state": "on_state",
        "tcp_retransmit_skb": "on_resend",
    },
)
"""What is loaded."""


class Tcp:
    """Retransmits and first bytes of the connections to the engine's ports, by port and tenant."""

    name = "tcp"
    every_s = 1.0

    def __init__(
        self,
        processes: EngineProcesses | None = None,
        proc: Path = Path("/proc"),
        tenants: Mapping[str, str] | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        """Load the program; `tenants` names networks, as in `{"10.1.0.0/16": "team-a"}`."""
        self._program = load(TOOL, {**DEFINES, **socket_layout(TOOL)})
        try:
            self._watched = WatchedFlows(self._program, processes, proc, tenants, look_s)
        except BaseException:
            self.close()
            raise

    def read(self) -> Iterator[Reading]:
        """Give the totals since the start."""
        self._watched.look()
        of = self._watched.series
        for (port, tenant), (count, ns) in self._program.maps["answered"].items():
            yield of("tcp_first_bytes", port, tenant), float(count)
            yield of("tcp_first_byte_time", port, tenant), ns / 1e9
        for (port, tenant), (count,) in self._program.maps["resent"].items():
            yield of("flow_retransmits", port, tenant), float(count)

    def close(self) -> None:
        """Take the program away."""
        self._program.close()
