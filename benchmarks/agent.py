"""What the agent costs, as a share of one core, beside two usual ways to export counters from Python.

Cards × values at 10 Hz from a source of `agent_sources`; the default costs nothing to read, so that what is
left is the agent: lanes, checks, encoding, HTTP to a collector in another process. Beside it, in the same
run: the OpenTelemetry SDK with observable gauges and its OTLP exporter to that collector; prometheus_client,
rendering its page. Every way handles as many values a second; CPU is that of its process, without its start.

Then an hour in compressed time: the clock is ours, every read and every request happens, series come and go,
and resident memory is read before and after.

    python benchmarks/agent.py --json build/bench/agent.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.agent_sources import HZ, SOURCES, card_series
from benchmarks.process import version_line

WARM_S = 6.0
HOUR_S = 3600.0


class Collector(BaseHTTPRequestHandler):
    """Takes whatever comes; a stand-in that costs the sender as little as a collector can."""

    protocol_version = "HTTP/1.1"
    taken = 0

    def do_POST(self) -> None:
        """Read it and say yes."""
        type(self).taken += len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def collect() -> None:
    """Run a collector until the parent closes stdin; the port on stdout."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    print(Collector.taken, flush=True)


def run_agent(port: int, args: argparse.Namespace) -> Callable[[], None]:
    """The agent as it is run, over `sources` free sources that share the cards."""
    from otel_attrib.collector.agent.destination import destination
    from otel_attrib.collector.agent.node import NodeAgent
    from otel_attrib.collector.agent.transport import transport
    from otel_attrib.config import load

    to = transport(destination({}, f"http://127.0.0.1:{port}"))
    makers = SOURCES[args.source](args.cards, args.values, args.sources)
    agent = NodeAgent(load({}, agent_budget=64), to, {}, sources=makers)
    agent.start()
    return agent.stop


def run_opentelemetry(port: int, args: argparse.Namespace) -> Callable[[], None]:
    """Observable gauges and the periodic reader, which keeps one value a series and so must send at 10 Hz."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = OTLPMetricExporter(f"http://127.0.0.1:{port}/v1/metrics")
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=1000 / HZ)
    provider = MeterProvider([reader])
    meter = provider.get_meter("peer")
    by_metric: dict[str, list[dict[str, str]]] = {}
    for n, one in enumerate(card_series(range(args.cards), args.values)):
        name = f"{one.counter.metric}.{n % args.values}"
        by_metric.setdefault(name, []).append({"hw.id": one.device, "hw.type": "gpu"})

    def observing(places: list[dict[str, str]]) -> Callable[[CallbackOptions], list[Observation]]:
        return lambda _: [Observation(0.5, place) for place in places]

    for name, places in by_metric.items():
        meter.create_observable_gauge(name, [observing(places)])
    return provider.shutdown


def run_prometheus(_: int, args: argparse.Namespace) -> Callable[[], None]:
    """Labelled gauges, set and rendered at the same rate; nobody even fetches the page."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    families = [Gauge(f"m{n}", "a value", ("hw_id",), registry=registry) for n in range(args.values)]
    gauges = [family.labels(str(card)) for family in families for card in range(args.cards)]
    ending = threading.Event()

    def work() -> None:
        while not ending.wait(1 / HZ):
            for gauge in gauges:
                gauge.set(0.5)
            generate_latest(registry)

    thread = threading.Thread(target=work)
    thread.start()

    def stop() -> None:
        ending.set()
        thread.join()

    return stop


RUN = {"agent": run_agent, "opentelemetry": run_opentelemetry, "prometheus": run_prometheus}


def measure(args: argparse.Namespace) -> None:
    """Run one way in this process and print what it took after its start."""
    stop = RUN[args.way](args.port, args)
    time.sleep(WARM_S)
    cpu, began = time.process_time(), time.monotonic()
    time.sleep(args.seconds)
    share = (time.process_time() - cpu) / (time.monotonic() - began)
    print(
        json.dumps({"share": share, "threads": threading.active_count(), "rss_mib": resident_mib()}),
        flush=True,
    )
    stop()


def resident_mib() -> float:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def collector() -> Iterator[int]:
    """A collector in a process of its own; its port."""
    words = [sys.executable, __file__, "--collect"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdin
        yield int(process.stdout.readline())
        process.stdin.close()
        if not int(process.stdout.read() or 0):
            raise SystemExit("the collector got nothing: what was measured is no export")


def one(way: str, port: int, args: argparse.Namespace) -> dict[str, float]:
    """Measure one way in a process of its own."""
    words = [sys.executable, __file__, f"--way={way}", f"--port={port}", f"--source={args.source}"]
    words += [f"--{name}={getattr(args, name)}" for name in ("cards", "values", "sources", "seconds")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path[:1] + [str(Path(__file__).parents[1])]),
    }
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def hour(args: argparse.Namespace) -> dict[str, float]:
    """An hour of reads and requests without waiting; memory after its first tenth and at its end."""
    from otel_attrib.collector.agent.export import Export
    from otel_attrib.collector.agent.reader import Reader
    from otel_attrib.collector.agent.schedule import Lane
    from otel_attrib.collector.agent.transport import Answer
    from otel_attrib.testing_agent import StillClock

    class Nowhere:
        where = "nowhere"

        def send(self, body: bytes) -> Answer:
            return Answer()

        def close(self) -> None:
            pass

    still = StillClock()
    export = Export(Nowhere(), {"host.name": "node"}, 5.0, clock=still.clock)
    lane = Lane(still.clock)
    for make in SOURCES["changing"](args.cards, args.values, args.sources).values():
        lane.add(Reader(make(), [export], clock=still.clock), 0.0)
    began, sent, at_tenth = time.process_time(), 5.0, 0.0
    while still.steady < HOUR_S:
        still.pass_s(max(lane.step(), 1e-6))
        if still.steady >= sent:
            export.flush()
            sent += 5.0
        if not at_tenth and still.steady >= HOUR_S / 10:
            at_tenth = resident_mib()
    return {
        "readings": export.counts.sent,
        "cpu_share": (time.process_time() - began) / HOUR_S,
        "rss_mib_after_6_min": at_tenth,
        "rss_mib_after_60_min": resident_mib(),
    }


def main() -> None:
    """Measure every way `--repeats` times, in turn, then the hour."""
    args = _arguments()
    if args.collect:
        collect()
    elif args.way:
        measure(args)
    else:
        report(args)


def report(args: argparse.Namespace) -> None:
    """Print the table and write the JSON."""
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in RUN}
    with collector() as port:
        for way in args.repeats * list(RUN):
            runs[way].append(one(way, port, args))
    medians = {way: statistics.median(run["share"] for run in found) for way, found in runs.items()}
    points = args.cards * args.values * HZ
    print(f"{args.cards} cards x {args.values} values at {HZ} Hz from {args.sources} sources ({args.source})")
    print(f"{'':15} {'% of a core':>12} {'us a value':>11} {'ratio':>7} {'RSS MiB':>8} {'threads':>8}")
    for way, share in medians.items():
        last = runs[way][-1]
        ratio = share / medians["agent"]
        row = f"{way:15} {100 * share:12.3f} {1e6 * share / points:11.2f} {ratio:7.1f}"
        print(f"{row} {last['rss_mib']:8.0f} {last['threads']:8.0f}")
    passed = hour(args)
    grown = passed["rss_mib_after_60_min"] - passed["rss_mib_after_6_min"]
    print(f"an hour: {passed['readings']:,.0f} readings, {grown:+.1f} MiB between minute 6 and minute 60")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        body = {"points_per_s": points, "share_of_a_core": medians, "runs": runs, "hour": passed}
        args.json.write_text(json.dumps({**body, "versions": version_line()}, indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cards", type=int, default=8)
    parser.add_argument("--values", type=int, default=60, help="of each card")
    parser.add_argument("--sources", type=int, default=1, help="share the cards among so many sources")
    parser.add_argument("--source", choices=tuple(SOURCES), default="free", help="what is read")
    parser.add_argument("--seconds", type=float, default=20.0, help="measured in each run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--way", choices=tuple(RUN), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
