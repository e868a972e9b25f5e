"""Whether another agent reads this machine already: two of them write every counter twice.

The mark is a listening socket in Linux' abstract namespace: it ends with its process, leaves no file, and
reaches as far as the network namespace.
"""

import socket
import struct

__all__ = ["Presence"]

_NAME = "\0otel-attrib-agent"
_CREDENTIALS = struct.Struct("3i")
# Nobody accepts: each that asked takes a place for good, and past these the pid is not told.
_PLACES = 512


class Presence:
    """This process's mark, if nobody else has made one."""

    def __init__(self, name: str = _NAME) -> None:
        """Make it, or find out who was here before."""
        self.other: int | None = None
        """The process that reads this machine too; 0 where it cannot be told."""
        self._mark: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._mark.bind(name)
            self._mark.listen(_PLACES)
        except OSError:
            self.close()
            self.other = _holder(name)

    def close(self) -> None:
        """Take the mark away."""
        if self._mark is not None:
            self._mark.close()
            self._mark = None


def _holder(name: str) -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0.5)
        try:
            asking.connect(name)
            raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return 0
    pid: int = _CREDENTIALS.unpack(raw)[0]
    return pid
