"""Heat map of a day: from the minutes' bins, beside counting the rows and beside quantiles as cells.

A day of requests is made inside the engine (log-normal times, 0.5 % eight times slower) and rolled up by the
product's own views. Measured: the whole answer of `otel-attrib heatmap` (counts, P99 line, marks), the counts
alone from minutes and from rows, and the P99 line from minutes' states and from 10 s states. Wall times are
medians of the runs after one that warms the file cache. Counts from minutes and rows must be equal, cell by
cell, and both lines the same numbers; what is not makes the run fail.

    python benchmarks/heatmap.py --requests 100000000 --runs 5 --json build/bench/heatmap.json
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process import cpu_s, peak_rss_mib, version_line
from benchmarks.sliding_ways import CHUNK, FILL, MODELS, OPTIONS, START, TENANTS
from otel_attrib.analytics import quantiles
from otel_attrib.analytics.heatmap import HeatmapAsked
from otel_attrib.analytics.heatmap_object import Words, ask_heatmap, heatmap_object
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.statement import statement
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

HOURS, LEVEL, ROWS = 24, 0.99, 48


@dataclass(frozen=True)
class Figure:
    """One way's medians."""

    way: str
    wall_s: float
    cpu_s: float
    load: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--step", type=int, default=900, help="seconds of a column (900, as the page asks)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--store", type=Path, help="folder of a store to make, or made before")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = args.store or Path(name)
        with open_store(f"chdb://{folder}/store?{OPTIONS}") as store:
            made = _made(store, args.requests)
            document = _measured(store, args, made)
    _print(document)
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _made(store: Store, n: int) -> float:
    """Fill an empty store; return how long it took, 0 for one that was full."""
    began = time.perf_counter()
    migrate(store)
    if store.rows("SELECT count() AS n FROM requests")[0]["n"]:
        return 0.0
    fixed = {"start": int(START.timestamp()) * 1_000_000, "span": HOURS * 3_600_000_000, "n": n}
    for first in range(0, n, CHUNK):
        part = {"first": first, "rows": min(CHUNK, n - first), "models": MODELS, "tenants": TENANTS}
        store.command(FILL, {**fixed, **part})
    for table in ("requests_10s", "requests_60s"):
        store.command(f"OPTIMIZE TABLE {table} FINAL")
    return time.perf_counter() - began


def _measured(store: Store, args: argparse.Namespace, made: float) -> dict[str, Any]:
    span = Window(START, START + timedelta(hours=HOURS))
    asked = HeatmapAsked(METRICS["ttft"], LEVEL, args.step, ROWS, span)
    words = Words("ttft", LEVEL, f"{span}", f"{args.step}s", ROWS)
    ways: dict[str, Callable[[], Any]] = {
        "whole answer": lambda: heatmap_object(*ask_heatmap(store, words)),
        "counts, minutes": lambda: _counts(store, asked, "states"),
        "counts, rows": lambda: _counts(store, asked, "rows"),
        "line, minutes": lambda: _line(store, asked, quantiles.MINUTE),
        "line, 10 s": lambda: _line(store, asked, 1 << 30),
    }
    found = {way: _timed(way, run, args.runs) for way, run in ways.items()}
    answers = {way: answer for way, (_, answer) in found.items()}
    assert np.array_equal(*(answers[f"counts, {kind}"] for kind in ("minutes", "rows")))
    assert answers["line, minutes"] == answers["line, 10 s"]
    assert args.requests == answers["whole answer"]["n"]
    return {
        "benchmark": "heatmap",
        "versions": version_line(),
        "requests": args.requests,
        "hours": HOURS,
        "series": MODELS * TENANTS,
        "columns": len(answers["whole answer"]["times"]),
        "cells": len(answers["whole answer"]["cells"]),
        "made_s": made,
        "cores": os.cpu_count(),
        "peak_rss_mib": peak_rss_mib(os.getpid()),
        "medians": [asdict(figure) for figure, _ in found.values()],
        "tables": store.rows(_SIZES),
    }


_SIZES = """
SELECT table, toUInt64(sum(rows)) AS rows, toUInt64(sum(bytes_on_disk)) AS bytes FROM system.parts
WHERE active AND table IN ('requests', 'requests_10s', 'requests_60s') GROUP BY table ORDER BY table
"""


def _counts(store: Store, asked: HeatmapAsked, source: str) -> Any:
    """Columns, bins and counts, from minutes or from rows."""
    whole = asked.on_grid()
    pieces = {"bins": "ttft_bins"} if source == "states" else {"value": "ttft_us", "values": "1"}
    if source == "rows":
        pieces["values"] = whole.metric.values
    sql = statement(f"heatmap_{source}", where="1", **pieces)
    first, last = (int(at.timestamp()) for at in (whole.span.start, whole.span.end))
    table = store.arrow(sql, {"first": first, "last": last, "step": whole.step})
    return np.stack([table[name].to_numpy().astype(np.int64) for name in ("at", "bin", "n")])


def _line(store: Store, asked: HeatmapAsked, minute: int) -> Any:
    """The line, from minutes' states, or with a minute that no step is a multiple of from 10 s states."""
    with patch.object(quantiles, "MINUTE", minute):
        return quantiles.slide_table(store, asked.on_grid().line()).to_pydict()


def _timed(way: str, run: Callable[[], Any], runs: int) -> tuple[Figure, Any]:
    answer, walls, cpus = run(), [], []
    for _ in range(runs):
        cpu, wall = cpu_s(os.getpid()), time.perf_counter()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_s(os.getpid()) - cpu)
    figure = Figure(way, statistics.median(walls), statistics.median(cpus), os.getloadavg()[0])
    print(f"  {way}: {figure.wall_s:.3f} s", file=sys.stderr, flush=True)
    return figure, answer


def _print(document: dict[str, Any]) -> None:
    print(
        f"{document['requests']:,} requests in {document['hours']} h, {document['series']} series,"
        f" {document['columns']} columns; {document['versions']}"
    )
    base = {figure["way"]: figure["wall_s"] for figure in document["medians"]}
    print(f"{'way':<18}{'wall s':>9}{'CPU s':>9}{'× minutes':>11}{'load':>7}")
    for figure in document["medians"]:
        minutes = base.get(f"{figure['way'].split(',')[0]}, minutes")
        ratio = f"{figure['wall_s'] / minutes:.1f}" if minutes else "-"
        print(
            f"{figure['way']:<18}{figure['wall_s']:>9.3f}{figure['cpu_s']:>9.2f}{ratio:>11}{figure['load']:>7.1f}"
        )
    for table in document["tables"]:
        print(f"{table['table']:<14}{table['rows']:>14,} rows{table['bytes'] / (1 << 20):>10,.1f} MiB")


if __name__ == "__main__":
    sys.exit(main())
