"""The network interfaces at which packets for this machine itself arrive.

Those with an address: what is only a part of another (a bridge's port, a bond's half) has none, and a packet
would be counted there once more. Ethernet framing is needed, which the loopback has as well.
"""

from pathlib import Path

from otel_attrib.collector.sources.interface_addresses import interface_of_address
from otel_attrib.collector.sources.netlink import ROUTE, Netlink

__all__ = ["addressed_interfaces"]

_ETHERNET, _LOOPBACK = "1", "772"


def addressed_interfaces(net: Path = Path("/sys/class/net")) -> tuple[str, ...]:
    """Return the names of the interfaces that have an address, are up and are framed as Ethernet."""
    asked = Netlink(ROUTE)
    try:
        addressed = set(interface_of_address(asked).values())
    finally:
        asked.close()
    return tuple(sorted(name for name in addressed if _framed(net / name)))


def _framed(folder: Path) -> bool:
    try:
        kind, state = ((folder / name).read_text().strip() for name in ("type", "operstate"))
    except OSError:  # gone meanwhile
        return False
    return kind in (_ETHERNET, _LOOPBACK) and state in ("up", "unknown")
