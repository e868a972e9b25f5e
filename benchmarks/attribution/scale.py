"""`why` from 20 thousand to 100 million requests: time and memory, beside peers on the same rows.

Requests are made inside the store, half of them a baseline, half with one slow GPU (`scale_data`). Each way
runs in a process of its own, twice: `first` includes importing everything and opening the store, `again` is
the second time in that process. The kernel's page cache is as the run before left it. Memory is the
process's peak, engine included. `states` takes the displayed quantile from 10 s states,
`rows` from every row and fetches those that can matter, `exact` fetches every row.

Peers answer a smaller question: polars and DuckDB compute the tail accounting of both windows (the mean
of every stage over the requests within 0.1 % of ranks around P99, B minus A), pandas the difference of the
means; they read Parquet files with those columns alone.

    python benchmarks/attribution/scale.py --requests 20000 1000000 --json scale.json
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attribution.scale_data import STAGES, export, make, windows
from benchmarks.process import cpu_s, peak_rss_mib, version_line

FEW, MANY = 200_000, 20_000_000
A_SECOND = 4630
"""Requests a second: 100 million are six hours."""


@dataclass(frozen=True)
class Figure:
    """What one way took, and what it answered."""

    requests: int
    way: str
    first_s: float
    again_s: float
    cpu_s: float
    peak_rss_mib: float
    answer: str


def why(folder: Path, hours: float, **how: Any) -> Callable[[], str]:
    """Ask why TTFT rose, and say what share of the rise went to prefill, and on how many rows."""
    from otel_attrib.analytics.analysis import analyse
    from otel_attrib.analytics.fetch import fetch_pair
    from otel_attrib.analytics.filters import EVERY_REQUEST
    from otel_attrib.analytics.metric import METRICS
    from otel_attrib.schema.store import open_store

    store = open_store(f"chdb://{folder}/store")

    def ask() -> str:
        pair = fetch_pair(store, METRICS["ttft"], windows(hours), (EVERY_REQUEST, EVERY_REQUEST), **how)
        report = analyse(*pair, metric=METRICS["ttft"])
        assert report.delta is not None
        rows = sum(period.rows.n for period in pair) + (pair[1].upper.rows.n if pair[1].upper else 0)
        certified = "certified" if report.checks["certificate"] else "a sample"
        prefill = report.stages["prefill"].value
        return f"{report.delta.value:.3f} ms, prefill {prefill:.3f}; {rows:,} rows, {certified}"

    return ask


def tail_polars(folder: Path) -> str:
    """Return the tail accounting with polars, streaming."""
    import polars as pl

    means = []
    for name in ("baseline", "current"):
        table = pl.scan_parquet(folder / f"{name}.parquet")
        low, high = (
            table.select(pl.quantile("ttft", 0.9895).alias("a"), pl.quantile("ttft", 0.9905).alias("b"))
            .collect(engine="streaming")
            .row(0)
        )
        tail = table.filter(pl.col("ttft").is_between(low, high)).select(pl.col(*STAGES).mean())
        means.append(tail.collect(engine="streaming").row(0, named=True))
    return _difference(means)


def tail_duckdb(folder: Path) -> str:
    """Return the tail accounting with DuckDB, two threads."""
    import duckdb

    means = []
    connection = duckdb.connect(config={"threads": 2})
    for name in ("baseline", "current"):
        table = f"read_parquet('{folder}/{name}.parquet')"
        found = connection.execute(f"SELECT quantile_disc(ttft, [0.9895, 0.9905]) FROM {table}").fetchone()
        assert found is not None
        columns = ", ".join(f"avg({stage}) AS {stage}" for stage in STAGES)
        sql = f"SELECT {columns} FROM {table} WHERE ttft BETWEEN {found[0][0]} AND {found[0][1]}"
        row = connection.execute(sql).fetchone()
        assert row is not None
        means.append(dict(zip(STAGES, row, strict=True)))
    return _difference(means)


def means_pandas(folder: Path) -> str:
    """Return the difference of the means with pandas."""
    import pandas as pd

    columns = list(STAGES)
    means = [
        pd.read_parquet(folder / f"{name}.parquet", columns=columns).mean().to_dict()
        for name in ("baseline", "current")
    ]
    return _difference(means)


def _difference(means: list[dict[str, float]]) -> str:
    return f"prefill {(means[1]['prefill'] - means[0]['prefill']) / 1000:.3f} ms"


WAYS: dict[str, tuple[int, Callable[[Path, float], Callable[[], str]]]] = {
    "why": (10**12, lambda folder, hours: why(folder, hours)),
    "why, rows": (10**12, lambda folder, hours: why(folder, hours, states=False)),
    "why, exact": (FEW, lambda folder, hours: why(folder, hours, exact=True)),
    "polars tail": (10**12, lambda folder, hours: lambda: tail_polars(folder)),
    "DuckDB tail": (10**12, lambda folder, hours: lambda: tail_duckdb(folder)),
    "pandas means": (MANY, lambda folder, hours: lambda: means_pandas(folder)),
}
"""Each way with the most requests that it is run on."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument(
        "--folder", type=Path, help="where to make the rows (160 bytes each); default: a temporary one"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one-way", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_way:
        return _measure(args)
    figures: list[Figure] = []
    made: dict[int, float] = {}
    for n in args.requests:
        with tempfile.TemporaryDirectory(dir=args.folder) as name:
            began = time.perf_counter()
            _run(n, "make", Path(name))
            made[n] = time.perf_counter() - began
            figures += [_figure(_run(n, way, Path(name))) for way, (most, _) in WAYS.items() if n <= most]
    _print(figures, made)
    if args.json:
        args.json.write_text(json.dumps(_document(figures, made), indent=1) + "\n")
    return 0


def _figure(text: str) -> Figure:
    return Figure(**json.loads(text))


def _run(n: int, way: str, folder: Path) -> str:
    command = [sys.executable, __file__, "--requests", str(n), "--one-way", way, str(folder)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(f"  {n:,} {way}: {answer.strip()}", file=sys.stderr, flush=True)
    return answer


def _measure(args: argparse.Namespace) -> int:
    way, name = args.one_way
    n, folder = args.requests[0], Path(name)
    hours = n / A_SECOND / 3600
    if way == "make":
        from otel_attrib.schema.store import open_store

        make(folder, n, hours)
        with open_store(f"chdb://{folder}/store") as store:
            export(store, folder, hours)
        return 0
    began = time.perf_counter(), cpu_s(os.getpid())
    run = WAYS[way][1](folder, hours)
    run()
    first = time.perf_counter() - began[0]
    began = time.perf_counter(), cpu_s(os.getpid())
    answer = run()
    again, cpu = time.perf_counter() - began[0], cpu_s(os.getpid()) - began[1]
    print(json.dumps(asdict(Figure(n, way, first, again, cpu, peak_rss_mib(os.getpid()), answer))))
    return 0


def _print(figures: list[Figure], made: dict[int, float]) -> None:
    print(f"{_versions()}; two windows of half the requests each")
    for n, seconds in made.items():
        print(f"{n:,} requests made, rolled up and exported in {seconds:.1f} s")
    print(f"{'requests':>12} {'way':<13}{'first s':>9}{'again s':>9}{'CPU s':>8}{'peak MiB':>10}  answer")
    for f in figures:
        numbers = f"{f.first_s:>9.2f}{f.again_s:>9.2f}{f.cpu_s:>8.2f}{f.peak_rss_mib:>10,.0f}"
        print(f"{f.requests:>12,} {f.way:<13}{numbers}  {f.answer}")


def _versions() -> str:
    peers = " ".join(f"{name} {version(name)}" for name in ("polars", "duckdb", "pandas"))
    return f"{version_line()} {peers}"


def _document(figures: list[Figure], made: dict[int, float]) -> dict[str, Any]:
    return {
        "benchmark": "attribution at scale",
        "versions": _versions(),
        "made_s": made,
        "runs": [asdict(figure) for figure in figures],
    }


if __name__ == "__main__":
    sys.exit(main())
