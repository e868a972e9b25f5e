"""What the CUDA, TCP and arrival-to-read tools cost what they watch: interleaved runs with and without.

    python benchmarks/ebpf_probes.py [--rounds 5]

CUDA: launches of fake libraries that do nothing (tests/native/cuda), so that the call's time is the
probe's. TCP: requests and answers over loopback, one at a time. All times are CPU time, both ends' and the
kernel's, which other work on the machine hardly touches. Prints Markdown: medians over the rounds.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.sources.ebpf.cuda import Cuda
from otel_attrib.collector.sources.ebpf.ingress import Ingress
from otel_attrib.collector.sources.ebpf.tcp import Tcp

NATIVE = Path(__file__).parents[1] / "tests/native/cuda"
CALLS, REQUESTS = 20_000, 5_000
OF = ("off", "on", "beside")
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
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--rounds", type=int, default=5)
    rounds = asked.parse_args().rounds
    print("| what | without | tool on | added |\n| --- | --: | --: | --: |")
    for what, off, on in (*cuda_costs(rounds), *network_costs(rounds)):
        print(f"| {what} | {off:.0f} ns | {on:.0f} ns | {on - off:.0f} ns |", flush=True)


def cuda_costs(rounds: int) -> Iterator[tuple[str, float, float]]:
    """One launch, watched or beside one that is: by the driver, and by the runtime, which calls the driver.

    A function that begins with a push is stepped over without a second trap; most of real libraries do.
    """
    for optimised, words in (("-O0", "begins with a push"), ("-O2", "begins otherwise")):
        with tempfile.TemporaryDirectory() as folder:
            built = build(Path(folder), optimised)
            with many(built) as (mine, launch), many(built) as (other, _):
                took = [cuda_round(mine, other, launch) for _ in range(rounds)]
        for kind in ("driver", "runtime"):
            off, on, beside = (statistics.median(times[kind, of] for times in took) for of in OF)
            yield f"launch by the {kind}, {words}", off, on
            yield f"the same, process not watched, {words}", off, beside


def cuda_round(mine: int, other: int, launch: Callable[[str], float]) -> dict[tuple[str, str], float]:
    """Nanoseconds of one launch without the tool, watched by it, and while only another process is."""
    found = {(kind, "off"): launch(kind) for kind in ("driver", "runtime")}
    finder = EngineProcesses(pids=[], every_s=0.0, only=True)
    source = Cuda(finder, look_s=0.0)
    for pid, of in ((mine, "on"), (other, "beside")):
        finder.watch([pid], only=True)
        list(source.read())
        found |= {(kind, of): launch(kind) for kind in ("driver", "runtime")}
    source.close()
    return found


def build(folder: Path, optimised: str) -> Path:
    """The fake libraries without their work, and the program that calls them."""
    flags = (optimised, "-DSPIN_NS=0", "-L", str(folder), "-Wl,-rpath,$ORIGIN")
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
        exchange(there, server.pid)
        for what, make in tools.items():
            off: list[float] = []
            on: list[float] = []
            for _ in range(rounds):
                off.append(exchange(there, server.pid))
                source = make()
                list(source.read())
                on.append(exchange(there, server.pid))
                source.close()
            yield what, statistics.median(off), statistics.median(on)
    server.wait()


def exchange(there: socket.socket, server: int) -> float:
    """Nanoseconds of CPU time, of both ends, of one request and its answer."""
    before = ran_ns(os.getpid()) + ran_ns(server)
    for _ in range(REQUESTS):
        there.sendall(b"request")
        there.recv(4096)
    return (ran_ns(os.getpid()) + ran_ns(server) - before) / REQUESTS


def ran_ns(pid: int) -> int:
    """Nanoseconds for which the first thread of a process has run."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


if __name__ == "__main__":
    main()
