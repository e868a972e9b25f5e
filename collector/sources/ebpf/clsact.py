"""Put a classifier at the entry of an interface with `tc`, for kernels before 6.6, with a guard that removes
it.

Such a filter outlives the program that made it. So a shell stands by that waits for the end of a pipe which
this process alone holds open: when it closes, also by `kill -9`, the shell removes the filter, and the clsact
qdisc too if it was made here and nobody else has put anything into it since.
"""

import ctypes
import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

from otel_attrib.collector.agent.source import Unavailable

__all__ = ["ClsactFilter"]

_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
_OBJECT_PIN = 6
_PINS: Final = Path("/sys/fs/bpf")
_WHICH: Final = ("protocol", "all", "pref", "49151", "handle", "0x77", "bpf")
_libc: Final = ctypes.CDLL(None, use_errno=True)

# $1 interface, $2 whether the qdisc is ours
_GUARD: Final = f"""
read -r _
tc filter del dev "$1" ingress {" ".join(_WHICH)}
if [ "$2" = ours ] && [ -z "$(tc filter show dev "$1" ingress; tc filter show dev "$1" egress)" ]; then
    tc qdisc del dev "$1" clsact
fi
"""


class ClsactFilter:
    """A classifier at the entry of one interface, and the shell that will remove it."""

    def __init__(self, interface: str, classifier: int) -> None:
        """Place it after what is there; `Unavailable` where tc or the BPF file system is missing."""
        if not shutil.which("tc"):
            raise Unavailable("no tc (apt-get install iproute2)")
        made = _made_qdisc(interface)
        pin = _PINS / f"otel_attrib_{os.getpid()}"
        _pin(classifier, pin)
        try:
            # One that a killed guard left behind has the same place and is replaced.
            place = ("tc", "filter", "replace", "dev", interface, "ingress", *_WHICH)
            _tc(*place, "direct-action", "object-pinned", str(pin))
        finally:
            pin.unlink()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "otel-attrib-guard", interface, "ours" if made else "theirs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )

    def close(self) -> None:
        """Have the guard remove it, and wait until it has."""
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard.wait(10)


def _made_qdisc(interface: str) -> bool:
    """Make the clsact qdisc; False when there is one already."""
    shown = subprocess.run(
        ["tc", "qdisc", "show", "dev", interface], capture_output=True, text=True, check=False
    )
    if "clsact" in shown.stdout:
        return False
    _tc("tc", "qdisc", "add", "dev", interface, "clsact")
    return True


def _tc(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}")


def _pin(classifier: int, path: Path) -> None:
    name = ctypes.create_string_buffer(os.fsencode(path))
    packed = struct.pack("=QII", ctypes.addressof(name), classifier, 0)
    asked = ctypes.create_string_buffer(packed, len(packed))
    if _libc.syscall(_SYSCALL[platform.machine()], _OBJECT_PIN, ctypes.byref(asked), len(packed)) < 0:
        words = os.strerror(ctypes.get_errno())
        raise Unavailable(f"cannot pin a program in {path.parent}: {words} (mount -t bpf bpf {path.parent})")
