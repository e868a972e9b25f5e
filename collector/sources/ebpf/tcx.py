"""Put a classifier at the entry of an interface so that the kernel itself takes it away again.

Linux 6.6 has links of traffic control (tcx): the classifier is there while a file is open, and gone when
it is closed, also by `kill -9`. No qdisc is made, and other classifiers run before or after, untouched.
"""

import ctypes
import errno
import os
import platform
import struct
from typing import Final

__all__ = ["attach_ingress", "lacks_tcx"]

_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
_LINK_CREATE, _TCX_INGRESS = 28, 46
_ATTRIBUTES: Final = struct.Struct("=IIIIQQ")
_libc: Final = ctypes.CDLL(None, use_errno=True)


def attach_ingress(interface: int, classifier: int) -> int:
    """Run a classifier on what comes in at an interface (its index), after those there; close to end it."""
    packed = _ATTRIBUTES.pack(classifier, interface, _TCX_INGRESS, 0, 0, 0)
    asked = ctypes.create_string_buffer(packed, len(packed))
    link = int(_libc.syscall(_SYSCALL[platform.machine()], _LINK_CREATE, ctypes.byref(asked), len(packed)))
    if link < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return link


def lacks_tcx(fault: OSError) -> bool:
    """Return whether this refusal means that the kernel is older than 6.6."""
    return fault.errno in (errno.EINVAL, errno.EOPNOTSUPP)
