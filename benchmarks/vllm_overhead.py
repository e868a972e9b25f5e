"""What the shim costs a real vLLM: throughput and TTFT with it off and on, beside vLLM's own tracing.

One server for each way is started and warmed; then, round after round, each in turn serves the same
requests as fast as its clients take them while the others are stopped with SIGSTOP. So two ways are
compared within seconds of each other on the same machine, and a figure is the median over rounds of the
ratio to the plain server of that round. Exports go to a real `otel-attrib up` on the same cores: its
work counts against the way that caused it. CPU per token is that of the server's own processes, exporting
included, as the kernel counts it; other load on the machine moves it least.

    python benchmarks/vllm_overhead.py --rounds 7 --json build/bench/vllm_overhead.json
"""

import argparse
import asyncio
import json
import os
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import cpu_s
from otel_attrib.demo.arrivals import load
from otel_attrib.demo.client import Exchange, exchange
from otel_attrib.demo.environment import VLLM_VERSION, ensure_model, ensure_vllm, server_environment
from otel_attrib.demo.process import Child, free_port
from otel_attrib.demo.server import ServerShape, engine_processes, start_vllm
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.workload import Planned, plan

PLAIN = "plain"
EXPORT_S = 1.5  # a batch of spans leaves within a second
SHAPE = ServerShape(max_num_seqs=16, kv_blocks=96)


@dataclass(frozen=True)
class Way:
    """One way to run the server."""

    name: str
    shim: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    own_tracing: bool = False


def sampled(share: str) -> Way:
    sampler = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": share}
    return Way(f"shim {float(share):.0%}", shim=True, environment=sampler)


WAYS = {
    way.name: way
    for way in (
        Way(PLAIN),
        sampled("0"),
        sampled("0.01"),
        sampled("0.1"),
        sampled("1"),
        Way("vLLM's own", own_tracing=True),
    )
}


@dataclass(frozen=True)
class Round:
    """One way's turn."""

    tokens_per_s: float
    cpu_us_per_token: float
    ttft_ms: list[float]


@dataclass
class Server:
    """A running server that is asleep unless it is its turn."""

    way: Way
    child: Child
    port: int

    def awake(self, yes: bool) -> None:
        """Let every process of the server run, or none."""
        os.killpg(self.child.pid, signal.SIGCONT if yes else signal.SIGSTOP)

    def turn(self, planned: Sequence[Planned], clients: int) -> Round:
        """Wake, serve everything, tell the last spans, sleep."""
        self.awake(True)
        before = self.cpu_us()
        seen, took = asyncio.run(serve(self.port, planned, clients))
        time.sleep(EXPORT_S)
        used = self.cpu_us() - before
        self.awake(False)
        tokens = sum(one.output_tokens or 0 for one in seen)
        waited = [(one.events_ns[0] - one.sent_ns) / 1e6 for one in seen]
        return Round(tokens / took, used / tokens, waited)

    def cpu_us(self) -> float:
        """CPU time so far of the API server, the engine core and its workers."""
        return 1e6 * sum(map(cpu_s, (self.child.pid, *engine_processes(self.child.pid).values())))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=240, help="of one way in one round (240)")
    parser.add_argument("--clients", type=int, default=8, help="requests in flight (8)")
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated, of: %(default)s")
    parser.add_argument("--short", action="store_true", help="plain and full sampling alone, two rounds")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.short:
        args.ways, args.rounds, args.requests = f"{PLAIN},{sampled('1').name}", 2, 120
    ways = [WAYS[name] for name in args.ways.split(",")]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        rounds = measure(ways, args, Path(folder), stack)
    figures = [figure(way, rounds) for way in ways]
    show(figures, args)
    if args.json:
        args.json.write_text(json.dumps(document(figures, args), indent=1) + "\n")
    return 0


def measure(
    ways: Sequence[Way], args: argparse.Namespace, folder: Path, stack: ExitStack
) -> dict[str, list[Round]]:
    ensure_vllm()
    service = stack.enter_context(Service(folder))
    servers = [start(way, service, folder, stack) for way in ways]
    rounds: dict[str, list[Round]] = {way.name: [] for way in ways}
    for turn in range(args.rounds):
        # Every round begins with another way, so none always runs on the warmest machine.
        for server in servers[turn % len(servers) :] + servers[: turn % len(servers)]:
            took = server.turn(requests(args.requests, turn), args.clients)
            rounds[server.way.name].append(took)
            print(f"  round {turn + 1} {server.way.name}: {took.tokens_per_s:.0f} tokens/s", flush=True)
    for server in servers:
        server.awake(True)
    return rounds


def start(way: Way, service: Service, folder: Path, stack: ExitStack) -> Server:
    launcher = (*OURS, "run", f"--otlp={service.otlp_grpc}", "--") if way.shim else ()
    own = (f"--otlp-traces-endpoint={service.otlp_grpc}",) if way.own_tracing else ()
    port = free_port()
    child = start_vllm(
        ensure_vllm(),
        ensure_model(),
        port,
        folder / f"{port}.log",
        server_environment() | way.environment,
        SHAPE,
        launcher,
        own,
    )
    stack.enter_context(child)
    server = Server(way, child, port)
    # A stopped group cannot end politely; registered after the child, so it runs before its stop.
    stack.callback(server.awake, True)
    asyncio.run(serve(port, requests(60, -1), 8))
    server.awake(False)
    return server


def requests(count: int, turn: int) -> list[Planned]:
    """Streamed requests with the lengths of the recorded traffic."""
    planned = [p for p in plan(load(), seed=3, words_seed=1000 + turn) if p.kind == "stream"]
    return [replace(request, index=index) for index, request in enumerate(planned[:count])]


async def serve(port: int, planned: Sequence[Planned], clients: int) -> tuple[list[Exchange], float]:
    """Send all requests, `clients` at a time; return what was seen and the seconds it took."""
    waiting, seen = list(reversed(planned)), list[Exchange]()

    async def client() -> None:
        while waiting:
            request = waiting.pop()
            headers = {"traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"}
            seen.append(await exchange(port, request.route, headers, json.dumps(request.body).encode()))

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    took = time.perf_counter() - began
    if any(one.http_status != 200 or one.truncated for one in seen):
        raise SystemExit("a request failed; the figures would mean nothing")
    return seen, took


@dataclass(frozen=True)
class Figure:
    """One way over all rounds; ratios are to the plain server of the same round."""

    way: str
    tokens_per_s: float
    throughput_ratio: float
    throughput_ratio_range: tuple[float, float]
    cpu_us_per_token: float
    cpu_ratio: float
    ttft_p50_ms: float
    ttft_p99_ms: float


def figure(way: Way, rounds: dict[str, list[Round]]) -> Figure:
    mine, plain = rounds[way.name], rounds[PLAIN]
    ratios = [a.tokens_per_s / b.tokens_per_s for a, b in zip(mine, plain, strict=True)]
    cpu = [a.cpu_us_per_token / b.cpu_us_per_token for a, b in zip(mine, plain, strict=True)]
    every = sorted(value for one in mine for value in one.ttft_ms)
    return Figure(
        way.name,
        statistics.median(one.tokens_per_s for one in mine),
        statistics.median(ratios),
        (min(ratios), max(ratios)),
        statistics.median(one.cpu_us_per_token for one in mine),
        statistics.median(cpu),
        statistics.median(every),
        every[int(0.99 * len(every))],
    )


def show(figures: Sequence[Figure], args: argparse.Namespace) -> None:
    head = f"{'way':12}{'tokens/s':>9}{'ratio':>7}{'of rounds':>13}"
    print(f"\n{head}{'CPU/token':>11}{'ratio':>7}{'P50 TTFT':>10}{'P99 TTFT':>10}")
    for one in figures:
        low, high = one.throughput_ratio_range
        print(
            f"{one.way:12}{one.tokens_per_s:9.0f}{one.throughput_ratio:7.3f}{f'{low:.2f}…{high:.2f}':>13}"
            f"{one.cpu_us_per_token:8.0f} µs{one.cpu_ratio:7.3f}"
            f"{one.ttft_p50_ms:7.1f} ms{one.ttft_p99_ms:7.0f} ms"
        )
    print(
        f"\n{args.rounds} rounds of {args.requests} requests by {args.clients} clients; vLLM {VLLM_VERSION}, "
        f"{os.cpu_count()} cores.\nRatios: median over rounds, to the plain server of the same round."
    )


def document(figures: Sequence[Figure], args: argparse.Namespace) -> dict[str, object]:
    return {
        "benchmark": "vllm_overhead",
        "vllm": VLLM_VERSION,
        "cores": os.cpu_count(),
        "rounds": args.rounds,
        "requests": args.requests,
        "clients": args.clients,
        "figures": [asdict(one) for one in figures],
    }


if __name__ == "__main__":
    raise SystemExit(main())
