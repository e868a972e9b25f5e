"""What eBPF costs a real vLLM: throughput and CPU per token, tools on and off by turns on one server.

Each round serves the same requests as fast as eight clients take them, once with the tools in the kernel and
read at their own rates, once without; every other round begins with the other. Ratios are medians over
rounds. CPU per token is that of the server's own processes, in which the probes' time is. The tools read in
this process, on the same cores.

On a machine that is busy with other things those ratios scatter by tens of per cent. So the kernel's own
account is given beside them: the time that it spent in the tools' programs (for whatever process of the
machine), over the CPU time of the server in the same seconds. It leaves out the way into a program, 50 ns.

    sudo .venv/bin/python benchmarks/ebpf_vllm.py --rounds 7 --json ebpf_vllm.json
"""

import argparse
import asyncio
import ctypes
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import cpu_s
from benchmarks.vllm_overhead import SHAPE, requests, serve
from otel_attrib.collector.agent.catalogue import source_class
from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Source, Unavailable
from otel_attrib.demo.environment import VLLM_VERSION, ensure_model, ensure_vllm, server_environment
from otel_attrib.demo.process import free_port
from otel_attrib.demo.server import engine_processes, start_vllm

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
ENABLE_STATS = 32
TOOLS = "sched,tcp,tc_ingress,cuda,nccl"


@dataclass(frozen=True)
class Turn:
    """One run of the requests."""

    tokens_per_s: float
    cpu_us_per_token: float
    runs_per_s: float
    """How often a program ran."""
    share: float
    """Time in the programs over CPU time of the server."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=240, help="of one turn (240)")
    parser.add_argument("--clients", type=int, default=8, help="requests in flight (8)")
    parser.add_argument("--tools", default=TOOLS, help="comma-separated (%(default)s)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    try:
        document = measure(args)
    except Unavailable as fault:
        document = {"unavailable": str(fault)}
    print(json.dumps(document, indent=1))
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def measure(args: argparse.Namespace) -> dict[str, object]:
    turns: dict[bool, list[Turn]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        port = free_port()
        log = Path(folder) / "vllm.log"
        child = start_vllm(ensure_vllm(), ensure_model(), port, log, server_environment(), SHAPE, (), ())
        stack.enter_context(child)
        pids = [child.pid, *engine_processes(child.pid).values()]
        finder = EngineProcesses(pids=[child.pid], only=True)
        asyncio.run(serve(port, requests(60, -1), args.clients))
        stack.enter_context(counted())
        for number in range(args.rounds):
            for on in (True, False) if number % 2 else (False, True):
                with running(args.tools.split(",") if on else [], finder):
                    turns[on].append(turn(port, pids, args, number))
                print(f"  round {number + 1} {'on' if on else 'off'}: {turns[on][-1]}", file=sys.stderr)
    throughput = [a.tokens_per_s / b.tokens_per_s for a, b in zip(turns[True], turns[False], strict=True)]
    cpu = [a.cpu_us_per_token / b.cpu_us_per_token for a, b in zip(turns[True], turns[False], strict=True)]
    return {
        "vllm": VLLM_VERSION,
        "tools": args.tools,
        "rounds": args.rounds,
        "requests": args.requests,
        "programs_of_cpu": statistics.median(each.share for each in turns[True]),
        "program_runs_per_s": statistics.median(each.runs_per_s for each in turns[True]),
        "throughput_on_off": statistics.median(throughput),
        "throughput_range": [min(throughput), max(throughput)],
        "cpu_per_token_on_off": statistics.median(cpu),
        "cpu_range": [min(cpu), max(cpu)],
        "on": [asdict(each) for each in turns[True]],
        "off": [asdict(each) for each in turns[False]],
    }


def turn(port: int, pids: Sequence[int], args: argparse.Namespace, number: int) -> Turn:
    before, (runs, ns) = sum(map(cpu_s, pids)), programs()
    seen, took = asyncio.run(serve(port, requests(args.requests, number), args.clients))
    used = sum(map(cpu_s, pids)) - before
    runs_after, ns_after = programs()
    tokens = sum(one.output_tokens or 0 for one in seen)
    return Turn(tokens / took, 1e6 * used / tokens, (runs_after - runs) / took, (ns_after - ns) / 1e9 / used)


def programs() -> tuple[int, int]:
    """Runs and ns of every BPF program that this process holds, as the kernel counts them."""
    found: dict[str, tuple[int, int]] = {}
    for path in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):
            said = dict(re.findall(r"(\w+):\s*(\w+)", path.read_text()))
            if "prog_id" in said and "run_cnt" in said:
                found[said["prog_id"]] = int(said["run_cnt"]), int(said["run_time_ns"])
    return sum(runs for runs, _ in found.values()), sum(ns for _, ns in found.values())


@contextmanager
def counted() -> Iterator[None]:
    """Let the kernel count programs' runs meanwhile: BPF_ENABLE_STATS, no setting is changed."""
    attributes = ctypes.create_string_buffer(4)
    stats: int = ctypes.CDLL(None, use_errno=True).syscall(BPF, ENABLE_STATS, attributes, 4)
    if stats < 0:
        raise Unavailable(f"programs cannot be counted: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        os.close(stats)


@contextmanager
def running(names: Sequence[str], finder: EngineProcesses) -> Iterator[None]:
    """Load the tools and read each at its own rate meanwhile."""
    sources = [source_class(name)(processes=finder) for name in names]  # type: ignore[call-arg] # all of ours
    for source in sources:
        list(source.read())
    ended = threading.Event()
    threads = [threading.Thread(target=read_on, args=(source, ended)) for source in sources]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for source in sources:
            source.close()


def read_on(source: Source, ended: threading.Event) -> None:
    while not ended.wait(source.every_s):
        list(source.read())


if __name__ == "__main__":
    sys.exit(main())
