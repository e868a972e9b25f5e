"""Ask the kernel over netlink: one dump request, and the attributes of its answers (netlink(7)).

`Netlink` needs no privilege in this process's own network namespace; another one is entered for the moment in
which the socket is made, which takes CAP_SYS_ADMIN. The socket stays in the namespace in which it was made.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["ROUTE", "SOCK_DIAG", "Netlink", "attributes"]

ROUTE: Final = 0
SOCK_DIAG: Final = 4
"""Netlink protocols of <linux/netlink.h>."""

_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_BUFFER: Final = 1 << 18
_NEW_NET: Final = 0x40000000  # CLONE_NEWNET of <sched.h>
_OWN: Final = Path("/proc/thread-self/ns/net")


class Netlink:
    """A netlink socket in a network namespace."""

    def __init__(self, protocol: int, namespace: Path | None = None, wait_s: float = 2.0) -> None:
        """Open it, in `namespace` (a `/proc/<pid>/ns/net`) if given; OSError where that is refused."""
        self._socket = _socket_in(namespace, protocol) if namespace else _socket(protocol)
        self._socket.settimeout(wait_s)
        self._sequence = 0

    def dump(self, kind: int, body: bytes) -> Iterator[tuple[int, bytes]]:
        """Ask for everything of a kind; yield each answer's type and payload. OSError as the kernel says."""
        self._sequence += 1
        length = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(length, kind, _REQUEST | _DUMP, self._sequence, 0) + body)
        while True:
            for number, sequence, payload in _messages(self._socket.recv(_BUFFER)):
                if sequence != self._sequence:  # the rest of an answer that was given up
                    continue
                if number == _DONE:
                    return
                if number == _ERROR:
                    _complain(payload)
                yield number, payload

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def attributes(payload: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the type and value of each attribute from `start` on."""
    end = len(payload)
    while start + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(payload, start)
        if length < _ATTRIBUTE.size:
            return
        yield kind, payload[start + _ATTRIBUTE.size : start + length]
        start += -(-length // 4) * 4


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, sequence number and payload of each message in one datagram."""
    start = 0
    while start + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, start)
        if length < _HEADER.size:
            return
        yield kind, sequence, data[start + _HEADER.size : start + length]
        start += -(-length // 4) * 4


def _complain(payload: bytes) -> None:
    number = -struct.unpack_from("=i", payload)[0]
    raise OSError(number, os.strerror(number))


def _socket(protocol: int) -> socket.socket:
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    made.bind((0, 0))
    return made


def _socket_in(namespace: Path, protocol: int) -> socket.socket:
    """Make a socket in another namespace; only this thread enters it, and it comes back whatever happens."""
    home, away = os.open(_OWN, os.O_RDONLY), -1
    try:
        away = os.open(namespace, os.O_RDONLY)
        _enter(away)
        try:
            return _socket(protocol)
        finally:
            _enter(home)
    finally:
        os.close(home)
        if away >= 0:
            os.close(away)


def _enter(namespace: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, _NEW_NET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
