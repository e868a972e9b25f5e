"""Which interface a local address is of, in one network namespace, by rtnetlink (rtnetlink(7))."""

import socket
import struct
from typing import Final

from otel_attrib.collector.sources.netlink import Netlink, attributes

__all__ = ["interface_of_address"]

_GET_LINK, _GET_ADDRESS = 18, 22
_LINK: Final = struct.Struct("=BxHiII")
_ADDRESS: Final = struct.Struct("=BBBBI")
_NAME, _PEER, _LOCAL = 3, 1, 2  # IFLA_IFNAME, IFA_ADDRESS, IFA_LOCAL


def interface_of_address(netlink: Netlink) -> dict[str, str]:
    """Return address → name of its interface, for both families."""
    names = {
        _LINK.unpack_from(payload)[2]: name
        for _, payload in netlink.dump(_GET_LINK, _LINK.pack(0, 0, 0, 0, 0))
        for kind, value in attributes(payload, _LINK.size)
        if kind == _NAME and (name := value.rstrip(b"\0").decode(errors="replace"))
    }
    found: dict[str, str] = {}
    for _, payload in netlink.dump(_GET_ADDRESS, _ADDRESS.pack(0, 0, 0, 0, 0)):
        family, _, _, _, index = _ADDRESS.unpack_from(payload)
        values = dict(attributes(payload, _ADDRESS.size))
        # On a point-to-point interface the other attribute is the far end's address.
        raw = values.get(_LOCAL, values.get(_PEER, b""))
        if family in (socket.AF_INET, socket.AF_INET6) and raw and index in names:
            found[socket.inet_ntop(family, raw)] = names[index]
    return found
