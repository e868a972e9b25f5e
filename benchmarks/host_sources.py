"""What each host source costs while it watches an engine of 100 threads, as a share of one core.

Three processes with 100 threads between them, ten of which wake 200 times a second, and a server with 100
connections. Each source is read at its own rate for a while, then as fast as it can be (`warm`: what is left
when the caches of the CPU still hold what a reading needs). CPU is the reading thread's own.

    python benchmarks/host_sources.py --seconds 20 --json build/bench/host_sources.json
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.process import version_line
from otel_attrib.collector.agent.catalogue import SOURCES, source_class
from otel_attrib.collector.agent.processes import shared_processes
from otel_attrib.collector.agent.source import Source, Unavailable

HOST = (
    "schedstat",
    "throttling",
    "pressure",
    "cpu",
    "process_use",
    "context_switches",
    "network",
    "tcp_connections",
    "clock",
)
WARM_READS = 200
ENGINE = """
import socket, sys, threading, time
def work():
    while True:
        time.sleep(0.005)
threads = [threading.Thread(target=work, daemon=True) for _ in range(int(sys.argv[1]))]
threads += [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(int(sys.argv[2]))]
[thread.start() for thread in threads]
server = socket.create_server(("127.0.0.1", 0), backlog=int(sys.argv[3]) + 1)
print(server.getsockname()[1], flush=True)
ends = [server.accept() for _ in range(int(sys.argv[3]))]
print("ready", flush=True)
sys.stdin.read()
"""
SHAPE = ((2, 5, 100), (4, 36, 0), (4, 46, 0))
"""Of each process: working threads, resting ones, connections that it accepts."""


@contextmanager
def engine() -> Iterator[list[int]]:
    """Three processes as an engine has them; their pids."""
    with ExitStack() as ending:
        pids = []
        for working, resting, connections in SHAPE:
            words = [str(number) for number in (working, resting, connections)]
            child = subprocess.Popen(
                [sys.executable, "-c", ENGINE, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            ending.callback(child.communicate)
            assert child.stdout is not None
            port = int(child.stdout.readline())
            for _ in range(connections):
                ending.enter_context(_connected(port))
            child.stdout.readline()
            pids.append(child.pid)
        yield pids


@contextmanager
def _connected(port: int) -> Iterator[None]:
    import socket

    with socket.create_connection(("127.0.0.1", port)):
        yield


def cost(source: Source, seconds: float) -> dict[str, float]:
    """CPU of one reading in ms: at its rate, and warm."""
    for _ in range(3):
        list(source.read())
    reads = max(5, round(seconds / source.every_s))
    began, values = time.thread_time(), 0
    for _ in range(reads):
        values = len(list(source.read()))
        time.sleep(source.every_s)
    spent = (time.thread_time() - began) / reads
    began = time.thread_time()
    for _ in range(WARM_READS):
        list(source.read())
    warm = (time.thread_time() - began) / WARM_READS
    return {"every_s": source.every_s, "values": values, "ms": spent * 1e3, "warm_ms": warm * 1e3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with engine() as pids:
        shared_processes().watch(pids, only=True)
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
        for name in (name for name in SOURCES if name in HOST):
            try:
                source = source_class(name)()
            except Unavailable as why:
                print(f"{name}: {why}")
                continue
            worker = threading.Thread(
                target=lambda s=source, n=name: found.update({n: cost(s, args.seconds)})
            )
            worker.start()
            worker.join()
            source.close()
    load = os.getloadavg()[0]
    print(version_line())
    print(f"{threads} threads, {SHAPE[0][2]} connections; {os.cpu_count()} CPUs, load {load:.1f}")
    print(f"{'source':18} {'every s':>7} {'values':>6} {'ms':>7} {'% core':>7} {'warm ms':>8} {'% core':>7}")
    for name, one in found.items():
        shares = [one[key] / 10 / one["every_s"] for key in ("ms", "warm_ms")]
        print(
            f"{name:18} {one['every_s']:7.2f} {one['values']:6.0f} {one['ms']:7.3f} {shares[0]:7.3f} "
            f"{one['warm_ms']:8.3f} {shares[1]:7.3f}"
        )
    if args.json:
        args.json.write_text(
            json.dumps({"threads": threads, "load": load, "sources": found}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
