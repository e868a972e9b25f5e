"""One run of the corpus: what an answer may read, and, apart from it, what is true.

Folders: `corpus/RUN/` holds requests, steps, samples and marks as Parquet with the store's columns and
`run.json` with the two windows; `truth/RUN.json` lies elsewhere, so that no peer's process is given it.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.windows import Window, parse_window

__all__ = ["TABLES", "Case", "Truth", "read_case", "read_truth", "write_case", "write_truth"]

TABLES = ("requests", "steps", "samples", "marks")


@dataclass(frozen=True)
class Truth:
    """What paired runs (fault on and off, same seed) say of one run; ms of the change at the quantile.

    `culprits` are the layers that were broken, largest paired ms first; empty for a null or a decoy.
    `verdicts` are the right words: CAUSE, MIX, LOAD, NO_REGRESSION. `faint` marks a fault that made no
    rise by its paired effect, or whose rise the rest took back: silence is right there, and so is its name.
    `rest_ms` is what no fault did: workload, load and the chance of two windows. `rise_ms` is what a change
    must exceed to count. `where` is the broken slice.
    """

    verdicts: tuple[str, ...]
    culprits: tuple[str, ...]
    faint: bool
    layers_ms: dict[str, float]
    stages_ms: dict[str, float]
    rest_ms: float
    delta_ms: float
    rise_ms: float = 5.0
    where: dict[str, str] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """What an answer is made from."""

    baseline: Period
    current: Period


def write_case(folder: Path, tables: dict[str, pa.Table], windows: tuple[Window, Window]) -> None:
    """Write a run; its folder is put in place when it is whole, and one that is there already stays."""
    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    part.mkdir(parents=True)
    for table in TABLES:
        pq.write_table(tables[table], part / f"{table}.parquet", compression="zstd")
    run = {"baseline": str(windows[0]), "current": str(windows[1])}
    (part / "run.json").write_text(json.dumps(run, indent=1) + "\n")
    try:
        part.rename(folder)
    except OSError:  # another process was as fast
        shutil.rmtree(part)


def read_case(folder: Path, metric: str = "ttft") -> Case:
    """Read a run, cut into its two windows."""
    run = json.loads((folder / "run.json").read_text())
    tables = {table: pq.read_table(folder / f"{table}.parquet") for table in TABLES}
    windows = [parse_window(run[side], None) for side in ("baseline", "current")]  # type: ignore[arg-type] # FROM..TO
    periods = [_period(tables, window, metric) for window in windows]
    return Case(*periods)


def _period(tables: dict[str, pa.Table], window: Window, metric: str) -> Period:
    cut = {name: _within(table, window) for name, table in tables.items()}
    return Period(
        window,
        rows_of(cut["requests"], metric_named(metric)),
        cut["requests"],
        cut["steps"],
        cut["samples"],
        cut["marks"],
    )


def _within(table: pa.Table, window: Window) -> pa.Table:
    if not table.num_columns:
        return table
    bounds = window.bounds_us()
    time = pc.cast(pc.cast(table["time"], pa.timestamp("us")), pa.int64())
    inside = pc.and_(pc.greater_equal(time, bounds["from_us"]), pc.less(time, bounds["to_us"]))
    return table.filter(inside)


def write_truth(path: Path, truth: Truth) -> None:
    """Write the truth of one run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".part-{os.getpid()}")
    part.write_text(json.dumps(asdict(truth), indent=1) + "\n")
    part.replace(path)


def read_truth(path: Path) -> Truth:
    """Read the truth of one run."""
    found: dict[str, Any] = json.loads(path.read_text())
    return Truth(**{**found, "culprits": tuple(found["culprits"]), "verdicts": tuple(found["verdicts"])})
