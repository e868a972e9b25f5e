"""Ingest, end to end: OTLP over gRPC and HTTP into `otel-attrib up`, beside decoding in Python.

Measured is the CPU of the process that stores (user + system; spool, views, rollup and the merges that
follow), from the first byte sent until everything is queryable and merges are done; a client process sends
ready-made bytes. The peers decode the same bytes in a process of their own and insert the same columns into
the same tables with the same views: `rows` through `client.insert`, `arrow` through `insert_arrow`.

    python benchmarks/ingest.py --runs 3 --json ingest.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers import PEERS, ingest_as
from benchmarks.process import cpu_s, peak_rss_mib, version_line
from benchmarks.send import send
from benchmarks.served import served
from benchmarks.spans import SPANS_EACH, exports

WAYS = ("grpc", "http", *PEERS)


@dataclass(frozen=True)
class Figure:
    """One way's run: CPU of the storing process, its peak memory, and wall time until all is queryable."""

    way: str
    spans: int
    cpu_s: float
    wall_s: float
    peak_rss_mib: float

    @property
    def spans_per_core_s(self) -> float:
        """Spans a second that one core stores."""
        return self.spans / self.cpu_s


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--exports", type=int, default=400, help=f"requests of {SPANS_EACH} spans each")
    parser.add_argument("--shape", choices=("shim", "wide"), default="wide")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated, of: %(default)s")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return _peer(args)
    figures = [_run(way, args) for _ in range(args.runs) for way in args.ways.split(",")]
    _print(figures, args)
    if args.json:
        args.json.write_text(json.dumps(_document(figures, args), indent=1) + "\n")
    return 0


def _run(way: str, args: argparse.Namespace) -> Figure:
    figure = _peer_process(way, args) if way in PEERS else _service(way, args)
    print(f"  {way}: {figure.spans_per_core_s:,.0f} spans/s/core", file=sys.stderr, flush=True)
    return figure


def _service(way: str, args: argparse.Namespace) -> Figure:
    with tempfile.TemporaryDirectory() as folder, served(folder) as (pid, ready):
        return _feed(way, args, pid, ready)


def _feed(way: str, args: argparse.Namespace, pid: int, ready: dict[str, Any]) -> Figure:
    bodies, spans = list(exports(args.exports, args.shape)), args.exports * SPANS_EACH
    target = ready["otlp_grpc" if way == "grpc" else "otlp_http"]
    send(way, target, bodies[:20], args.connections, salt=b"warm")
    _until(ready, spans=20 * SPANS_EACH)
    cpu, wall = cpu_s(pid), time.perf_counter()
    send(way, target, bodies, args.connections)
    _until(ready, spans=20 * SPANS_EACH + spans)
    took = time.perf_counter() - wall
    _until_merged(ready)
    return Figure(way, spans, cpu_s(pid) - cpu, took, peak_rss_mib(pid))


def _until(ready: dict[str, Any], spans: int) -> None:
    deadline = time.monotonic() + 120
    while (seen := _ask(ready, "SELECT count() FROM otel_traces")) < spans:
        if time.monotonic() > deadline:
            raise SystemExit(f"only {seen:,} of {spans:,} spans are queryable after 120 s")
        time.sleep(0.1)


def _until_merged(ready: dict[str, Any]) -> None:
    quiet = 0
    while quiet < 5:
        quiet = 0 if _ask(ready, "SELECT count() FROM system.merges") else quiet + 1
        time.sleep(0.2)


def _ask(ready: dict[str, Any], sql: str) -> int:
    with urlopen(f"{_url(ready['clickhouse'])}/", data=sql.encode()) as answer:
        return int(answer.read())


def _url(endpoint: str | int) -> str:
    return endpoint if isinstance(endpoint, str) else f"http://127.0.0.1:{endpoint}"


def _peer_process(way: str, args: argparse.Namespace) -> Figure:
    command = [sys.executable, __file__, "--peer", way, "--exports", str(args.exports), "--shape", args.shape]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return Figure(**json.loads(answer.stdout.splitlines()[-1]))


def _peer(args: argparse.Namespace) -> int:
    bodies = list(exports(args.exports, args.shape))
    with tempfile.TemporaryDirectory() as folder, ingest_as(args.peer, f"chdb://{folder}/store") as ingest:
        ingest(bodies[:20])
        cpu, wall = cpu_s(os.getpid()), time.perf_counter()
        for start in range(0, len(bodies), 20):
            ingest(bodies[start : start + 20])
        took = time.perf_counter() - wall
        ingest.until_merged()
        spans = len(bodies) * SPANS_EACH
        figure = Figure(args.peer, spans, cpu_s(os.getpid()) - cpu, took, peak_rss_mib(os.getpid()))
    print(json.dumps(asdict(figure)))
    return 0


def _medians(figures: list[Figure]) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for way in dict.fromkeys(figure.way for figure in figures):
        runs = [figure for figure in figures if figure.way == way]
        rows[way] = {
            "spans_per_core_s": statistics.median(f.spans_per_core_s for f in runs),
            "spans_per_wall_s": statistics.median(f.spans / f.wall_s for f in runs),
            "peak_rss_mib": max(f.peak_rss_mib for f in runs),
        }
    return rows


def _print(figures: list[Figure], args: argparse.Namespace) -> None:
    rows = _medians(figures)
    print(f"{figures[0].spans:,} spans ({args.shape}), median of {args.runs} runs; {version_line()}")
    print(f"{'way':<8}{'spans/s/core':>14}{'spans/s wall':>14}{'peak MiB':>10}{'× rows':>8}{'× arrow':>9}")
    for way, row in rows.items():
        ratios = [
            f"{row['spans_per_core_s'] / rows[peer]['spans_per_core_s']:.1f}" if peer in rows else "-"
            for peer in ("rows", "arrow")
        ]
        print(
            f"{way:<8}{row['spans_per_core_s']:>14,.0f}{row['spans_per_wall_s']:>14,.0f}"
            f"{row['peak_rss_mib']:>10,.0f}{ratios[0]:>8}{ratios[1]:>9}"
        )


def _document(figures: list[Figure], args: argparse.Namespace) -> dict[str, Any]:
    return {
        "benchmark": "ingest",
        "shape": args.shape,
        "versions": version_line(),
        "medians": _medians(figures),
        "runs": [asdict(figure) for figure in figures],
    }


if __name__ == "__main__":
    sys.exit(main())
