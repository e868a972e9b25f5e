"""How many events the kernel has left out: those that came while another BPF program ran on that processor.

The kernel does not run a tracepoint's program inside another one, and counts what it has left out (Linux
5.12). It is rare, a few in a thousand under load, and one of the reasons for which a count can be too
small.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from typing import Final

__all__ = ["missed_events"]

_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
_INFO: Final = 15
_SIZE, _MISSES = 216, 208  # up to recursion_misses of struct bpf_prog_info
_libc: Final = ctypes.CDLL(None, use_errno=True)


def missed_events(programs: Iterable[int]) -> int:
    """Return the sum over these programs (open files); 0 on kernels that do not count."""
    return sum(map(_missed, programs))


def _missed(program: int) -> int:
    info = ctypes.create_string_buffer(_SIZE)
    packed = struct.pack("=IIQ", program, _SIZE, ctypes.addressof(info))
    asked = ctypes.create_string_buffer(packed, len(packed))
    if _libc.syscall(_SYSCALL[platform.machine()], _INFO, ctypes.byref(asked), len(packed)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(struct.unpack_from("=Q", info.raw, _MISSES)[0])
