"""Harm that is really done: a noisy neighbour on the engine's cores, a key-value cache too small.

Nothing is simulated. The neighbour is a set of busy processes confined to the very cores
that the engine core and its workers may use; the small cache is the server's own setting
after a restart, as after a deployment that got it wrong.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from otel_attrib.demo.server import ServerShape
from otel_attrib.errors import OtelAttribError

__all__ = ["cores_of", "cpu_hog", "small_cache"]

# Ends by itself when its parent is gone, so a killed demonstration leaves no load behind.
BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


def cores_of(processes: Mapping[str, int]) -> set[int]:
    """Return the cores that the given processes may run on."""
    cores: set[int] = set()
    for pid in processes.values():
        cores |= os.sched_getaffinity(pid)
    if not cores:
        raise OtelAttribError("no engine process was found to put a neighbour beside")
    return cores


@contextmanager
def cpu_hog(processes: Mapping[str, int], per_core: int) -> Iterator[int]:
    """Run `per_core` busy processes on every core of the engine; yield how many there are."""
    cores = sorted(cores_of(processes)) * per_core
    # Each in a session of its own: Linux shares a core between sessions first, so that ten busy processes
    # of one terminal take no more from the engine than one.
    hogs = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(core)], start_new_session=True) for core in cores
    ]
    try:
        yield len(hogs)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def small_cache(shape: ServerShape, blocks: int) -> ServerShape:
    """Return the same server with a cache of `blocks` blocks of 128 tokens."""
    return replace(shape, kv_blocks=blocks)
