"""What the CUDA, TCP and arrival-to-read tools cost what they watch: interleaved runs with and without.

    python benchmarks/ebpf_probes.py [--rounds 5]

CUDA: launches of fake libraries that do nothing (tests/native/cuda), so that the call's time is the
probe's. TCP: requests and answers over loopback, one at a time. Prints Markdown: medians over the rounds.
"""

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.ebpf.cuda import Cuda
from otel_attrib.collector.sources.ebpf.ingress import Ingress
from otel_attrib.collector.sources.ebpf.tcp import Tcp

NATIVE = Path(__file__).parents[1] / "tests/native/cuda"
CALLS, REQUESTS = 100_000, 5_000
ECHO = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    there = server.accept()[0]
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := there.recv(4096):
        there.sendall(data)
"""


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--rounds", type=int, default=5)
    rounds = asked.parse_args().rounds
    print("| what | without | tool on | added |\n| --- | --: | --: | --: |")
    for what, off, on in (*cuda_costs(rounds), *network_costs(rounds)):
        print(f"| {what} | {off:.0f} ns | {on:.0f} ns | {on - off:.0f} ns |", flush=True)


def cuda_costs(rounds: int) -> Iterator[tuple[str, float, float]]:
    """One launch through the runtime, which calls the driver, or the driver; watched, or beside one."""
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    source = Cuda(finder, look_s=0.0)
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder))
        with many(built) as (mine, launch), many(built) as (other, _):
            for kind, words in (("runtime", "launch by the runtime"), ("driver", "launch by the driver")):
                for watched, role in ((mine, ""), (other, ", of a process that is not watched")):
                    off, on = [], []
                    for _ in range(rounds):
                        for pids, times in (((), off), ((watched,), on)):
                            finder.watch(pids, only=True)
                            list(source.read())
                            times.append(launch(kind))
                    yield words + role, statistics.median(off), statistics.median(on)
    source.close()


def build(folder: Path) -> Path:
    """The fake libraries without their work, and the program that calls them."""
    flags = ("-O2", "-DSPIN_NS=0", "-L", str(folder), "-Wl,-rpath,$ORIGIN")
    for name, sources, rest in (
        ("libcuda.so.1", "fake_libcuda.c", ("-shared", "-fPIC")),
        ("libcudart.so.12", "fake_libcudart.c", ("-shared", "-fPIC", "-l:libcuda.so.1")),
        ("many", "many.c", ("-l:libcudart.so.12", "-l:libcuda.so.1")),
    ):
        subprocess.run(["gcc", *flags, "-o", folder / name, NATIVE / sources, *rest], check=True)
    return folder / "many"


@contextmanager
def many(program: Path) -> Iterator[tuple[int, Callable[[str], float]]]:
    """The program's pid, and a function that returns the nanoseconds of one launch."""
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    told, heard = process.stdin, process.stdout

    def launch(kind: str) -> float:
        told.write(f"{kind} {CALLS}\n")
        told.flush()
        return int(heard.readline()) / CALLS

    try:
        launch("runtime")
        yield process.pid, launch
    finally:
        told.close()
        process.wait()


def network_costs(rounds: int) -> Iterator[tuple[str, float, float]]:
    """One request and its answer over loopback."""
    server = subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    port = int(server.stdout.readline())
    finder = EngineProcesses(pids=[server.pid], every_s=0.0, only=True)
    tools: dict[str, Callable[[], Tcp | Ingress]] = {
        "request and answer, `tcp`": lambda: Tcp(finder, look_s=0.0),
        "request and answer, `tc_ingress`": lambda: Ingress(finder, interfaces=["lo"], look_s=0.0),
    }
    with socket.create_connection(("127.0.0.1", port)) as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        exchange(there)
        for what, make in tools.items():
            off, on = [], []
            for _ in range(rounds):
                off.append(exchange(there))
                source = make()
                list(source.read())
                on.append(exchange(there))
                source.close()
            yield what, statistics.median(off), statistics.median(on)
    server.wait()


def exchange(there: socket.socket) -> float:
    """Nanoseconds of one request and its answer."""
    from_ns = time.perf_counter_ns()
    for _ in range(REQUESTS):
        there.sendall(b"request")
        there.recv(4096)
    return (time.perf_counter_ns() - from_ns) / REQUESTS


if __name__ == "__main__":
    main()
