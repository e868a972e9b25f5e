"""One host's clocks: whether two processes share a monotonic one, and how far the wall clock is from it."""

import os
import zlib
from collections.abc import Callable
from time import monotonic_ns, time_ns

__all__ = ["clock_id", "wall_offset_ns"]


def clock_id(root: str = "/proc") -> int:
    """Number that is equal in two processes exactly when their monotonic stamps can be subtracted."""
    parts = [_read(f"{root}/sys/kernel/random/boot_id"), _link(f"{root}/self/ns/time")]
    return zlib.crc32(" ".join(parts).encode())


def wall_offset_ns(
    wall: Callable[[], int] = time_ns, monotonic: Callable[[], int] = monotonic_ns, readings: int = 5
) -> int:
    """Wall clock minus monotonic clock, in ns, from the tightest of several readings.

    A thread that loses its core between two clock calls would place everything late by that pause.
    """
    found = []
    for _ in range(readings):
        before, now, after = monotonic(), wall(), monotonic()
        found.append((after - before, now - (before + after) // 2))
    return min(found)[1]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return f"unknown {os.uname().nodename}"


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
