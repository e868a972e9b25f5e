"""Sliding P99: 5-minute windows every 10 s, from 10 s states, beside exact rows, polars and DuckDB.

Requests are made inside the engine, rolled up by the product's own view, and exported once to Parquet for
polars and DuckDB. Each way runs in a process of its own: `all` is every window of 35 series, `one` is the
last hour of one series. Wall and CPU are medians of the runs after one that warms the file cache; memory is
the process's peak. All four take P99; polars takes the same order statistic as ours, DuckDB's quantile_disc
one rank higher at most. The states' error is taken against the exact rows.

    python benchmarks/sliding.py --requests 1000000 --runs 3 --json sliding.json
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
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import cpu_s, peak_rss_mib, version_line
from benchmarks.sliding_ways import WAYS, last_hour, make, whole_span


@dataclass(frozen=True)
class Figure:
    """One way's medians."""

    way: str
    scope: str
    windows: int
    wall_s: float
    cpu_s: float
    peak_rss_mib: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--hours", type=float, default=6.0, help="time that the requests are spread over")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated, of: %(default)s")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one-way", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_way:
        return _measure(args)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        _run(args, "make", "all", folder)
        made = time.perf_counter() - began
        figures = [
            Figure(**json.loads(_run(args, way, scope, folder)))
            for way in args.ways.split(",")
            for scope in ("all", "one")
        ]
        errors = _errors(folder)
    _print(figures, errors, made, args)
    if args.json:
        args.json.write_text(json.dumps(_document(figures, errors, made, args), indent=1) + "\n")
    return 0


def _run(args: argparse.Namespace, way: str, scope: str, folder: Path) -> str:
    sizes = ["--requests", str(args.requests), "--hours", str(args.hours), "--runs", str(args.runs)]
    command = [sys.executable, __file__, *sizes, "--one-way", way, scope, str(folder)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(f"  {way} {scope} done", file=sys.stderr, flush=True)
    return answer


def _measure(args: argparse.Namespace) -> int:
    way, scope, name = args.one_way
    folder = Path(name)
    if way == "make":
        make(folder, args.requests, args.hours)
        return 0
    span = whole_span(args.hours)
    run = WAYS[way](folder, last_hour(span) if scope == "one" else span, scope == "one")
    table = run()
    walls, cpus = [], []
    for _ in range(args.runs):
        cpu, wall = cpu_s(os.getpid()), time.perf_counter()
        table = run()
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_s(os.getpid()) - cpu)
    pq.write_table(table, folder / f"{way}_{scope}.parquet")
    medians = statistics.median(walls), statistics.median(cpus)
    print(json.dumps(asdict(Figure(way, scope, table.num_rows, *medians, peak_rss_mib(os.getpid())))))
    return 0


def _errors(folder: Path) -> dict[str, float]:
    """Return the largest relative differences of the whole windows, where both sides were run."""
    keys = ["model", "tenant", "window_end"]
    found = {}
    for left, right in (("states", "exact"), ("states", "polars"), ("exact", "polars")):
        paths = [folder / f"{way}_all.parquet" for way in (left, right)]
        if all(path.exists() for path in paths):
            frames = [
                pl.read_parquet(path).with_columns(pl.col("window_end").cast(pl.Int64)) for path in paths
            ]
            both = frames[0].join(frames[1], on=keys, suffix="_other")
            difference = (both["ms"] / both["ms_other"] - 1).abs().max()
            assert both.height > 0 and isinstance(difference, float)
            found[f"{left} against {right}"] = difference
    return found


def _print(figures: list[Figure], errors: dict[str, float], made: float, args: argparse.Namespace) -> None:
    print(
        f"{args.requests:,} requests over {args.hours:g} h, 35 series, medians of {args.runs} runs;"
        f" {version_line()}, polars {version('polars')}, duckdb {version('duckdb')}"
    )
    print(f"made, rolled up and exported in {made:.1f} s")
    print(f"{'way':<8}{'scope':<6}{'windows':>9}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}{'× states':>10}")
    base = {figure.scope: figure.wall_s for figure in figures if figure.way == "states"}
    for figure in figures:
        ratio = f"{figure.wall_s / base[figure.scope]:.1f}" if figure.scope in base else "-"
        print(
            f"{figure.way:<8}{figure.scope:<6}{figure.windows:>9,}{figure.wall_s:>9.3f}"
            f"{figure.cpu_s:>9.2f}{figure.peak_rss_mib:>10,.0f}{ratio:>10}"
        )
    for pair, difference in errors.items():
        print(f"largest difference, {pair}: {100 * difference:.4f} %")


def _document(
    figures: list[Figure], errors: dict[str, float], made: float, args: argparse.Namespace
) -> dict[str, Any]:
    return {
        "benchmark": "sliding",
        "requests": args.requests,
        "hours": args.hours,
        "versions": f"{version_line()}, polars {version('polars')}, duckdb {version('duckdb')}",
        "made_s": made,
        "medians": [asdict(figure) for figure in figures],
        "largest_difference": errors,
    }


if __name__ == "__main__":
    sys.exit(main())
