"""Where the running kernel keeps what the network tools read of a socket and of a packet, as its BTF says."""

from collections.abc import Iterable
from typing import Final

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.ebpf.btf import Btf
from otel_attrib.collector.sources.ebpf.features import lacks
from otel_attrib.collector.sources.ebpf.loader import Tool, fallback

__all__ = ["socket_layout"]

_FIELDS: Final = {
    "SOCK_PORT": ("sock_common", "skc_num"),
    "SOCK_PEER_PORT": ("sock_common", "skc_dport"),
    "SOCK_FAMILY": ("sock_common", "skc_family"),
    "SOCK_PEER": ("sock_common", "skc_daddr"),
    "SOCK_PEER6": ("sock_common", "skc_v6_daddr"),
    "PACKET_LENGTH": ("sk_buff", "len"),
    "PACKET_DATA": ("sk_buff", "data"),
}
# Those that are not as old as BTF itself.
_SINCE: Final = {"sock_send_length": "6.3", "sock_recv_length": "6.3"}


def socket_layout(tool: Tool) -> dict[str, int]:
    """Return the offsets to compile a tool with; `Unavailable` with what this kernel lacks for it."""
    if missing := lacks(tool.needs):
        raise Unavailable(fallback(missing))
    types = Btf()
    _have_tracepoints(types, tool.raw_tracepoints)
    offsets = {name: types.offset(*field) for name, field in _FIELDS.items()}
    lost = [".".join(_FIELDS[name]) for name, offset in offsets.items() if offset is None]
    if lost:
        raise Unavailable(f"no eBPF: this kernel's type information has no {', '.join(lost)}")
    return {name: offset for name, offset in offsets.items() if offset is not None}


def _have_tracepoints(types: Btf, wanted: Iterable[str]) -> None:
    for name in wanted:
        if types.arguments(name) is None:
            since = f" (Linux {_SINCE[name]} has)" if name in _SINCE else ""
            raise Unavailable(f"this kernel has no tracepoint {name}{since}")
