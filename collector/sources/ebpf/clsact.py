"""Put a classifier at the entry of an interface for kernels before 6.6, with a guard that removes it.

Such a filter of the clsact qdisc outlives the program that made it. So a shell stands by that waits for
the end of a pipe which this process alone holds open: when it closes, also by `kill -9`, the shell has
`tc` remove the filter, and the qdisc too if it was made here and nobody else has put anything into it
since.
"""

import errno
import os
import shutil
import socket
import struct
import subprocess
from typing import Final

from otel_attrib.collector.agent.source import Unavailable

__all__ = ["ClsactFilter"]

# Numbers of <linux/rtnetlink.h>, <linux/pkt_sched.h> and <linux/pkt_cls.h>.
_NEW_QDISC, _NEW_FILTER = 36, 44
_REQUEST, _ACKNOWLEDGE, _REPLACE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x100, 0x200, 0x400
_CLSACT, _CLSACT_HANDLE, _INGRESS = 0xFFFFFFF1, 0xFFFF0000, 0xFFFFFFF2
_KIND, _OPTIONS, _FD, _NAME, _FLAGS, _DIRECT = 1, 2, 6, 7, 8, 1
_PREFERENCE, _HANDLE, _ALL_PROTOCOLS = 49151, 0x77, 0x0300  # the last in network order
_MESSAGE: Final = struct.Struct("=IHHIIBxxxiIII")

# $1 interface, $2 whether the qdisc is ours
_GUARD: Final = f"""
read -r _
tc filter del dev "$1" ingress protocol all pref {_PREFERENCE} handle {_HANDLE:#x} bpf
if [ "$2" = ours ] && [ -z "$(tc filter show dev "$1" ingress; tc filter show dev "$1" egress)" ]; then
    tc qdisc del dev "$1" clsact
fi
"""


class ClsactFilter:
    """A classifier at the entry of one interface, and the shell that will remove it."""

    def __init__(self, interface: str, classifier: int) -> None:
        """Place it after what is there; one that a killed guard left behind is replaced."""
        if not shutil.which("tc"):
            raise Unavailable("no tc to take a classifier away again (apt-get install iproute2)")
        made = _make_qdisc(socket.if_nametoindex(interface))
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "otel-attrib-guard", interface, "ours" if made else "theirs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        try:
            _place_filter(socket.if_nametoindex(interface), classifier)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Have the guard remove it, and wait until it has."""
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard.wait(10)


def _make_qdisc(interface: int) -> bool:
    """Make the clsact qdisc; False when there is one already."""
    try:
        _ask(
            _NEW_QDISC,
            _CREATE | _EXCLUSIVE,
            interface,
            _CLSACT_HANDLE,
            _CLSACT,
            0,
            _attribute(_KIND, b"clsact\0"),
        )
    except OSError as fault:
        if fault.errno != errno.EEXIST:
            raise
        return False
    return True


def _place_filter(interface: int, classifier: int) -> None:
    options = (
        _attribute(_FD, struct.pack("=I", classifier))
        + _attribute(_NAME, b"otel_attrib\0")
        + _attribute(_FLAGS, struct.pack("=I", _DIRECT))
    )
    body = _attribute(_KIND, b"bpf\0") + _attribute(_OPTIONS, options)
    which = _PREFERENCE << 16 | _ALL_PROTOCOLS
    _ask(_NEW_FILTER, _CREATE | _REPLACE, interface, _HANDLE, _INGRESS, which, body)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _ask(kind: int, flags: int, interface: int, handle: int, parent: int, which: int, body: bytes) -> None:
    """Send one request of traffic control; OSError as the kernel answers."""
    flags |= _REQUEST | _ACKNOWLEDGE
    length = _MESSAGE.size + len(body)
    head = _MESSAGE.pack(length, kind, flags, 1, 0, 0, interface, handle, parent, which)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as asked:
        asked.settimeout(5.0)
        asked.send(head + body)
        refused = -struct.unpack_from("=i", asked.recv(65536), 16)[0]
    if refused:
        raise OSError(refused, os.strerror(refused))
