"""The network interfaces at which packets for this machine itself arrive.

Those with an address: what is only a part of another (a bridge's port, a bond's half) has none, and a packet
would be counted there once more. Ethernet framing is needed, which the loopback has as well.
"""

import fcntl
import socket
import struct
from pathlib import Path

__all__ = ["addressed_interfaces"]

_ETHERNET, _LOOPBACK = "1", "772"
_GET_ADDRESS = 0x8915


def addressed_interfaces(net: Path = Path("/sys/class/net"), proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Return the names of the interfaces that are up, framed as Ethernet and have an address."""
    names = (folder.name for folder in sorted(net.iterdir()) if _framed(folder))
    six = _with_ipv6(proc)
    return tuple(name for name in names if name in six or _has_ipv4(name))


def _framed(folder: Path) -> bool:
    try:
        kind, state = ((folder / name).read_text().strip() for name in ("type", "operstate"))
    except OSError:  # bonding_masters is a file
        return False
    return kind in (_ETHERNET, _LOOPBACK) and state in ("up", "unknown")


def _with_ipv6(proc: Path) -> set[str]:
    try:
        return {line.split()[-1] for line in (proc / "net/if_inet6").read_text().splitlines()}
    except OSError:
        return set()


def _has_ipv4(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            fcntl.ioctl(asked, _GET_ADDRESS, struct.pack("256s", name.encode()))
        except OSError:
            return False
    return True
