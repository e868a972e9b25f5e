"""The labelled corpus as one Parquet set, so that others can use it: docs/corpus.md is its card.

DIR/runs.parquet      one row a run: family, kind, severity, load, site, half, windows, truth
DIR/requests.parquet  DIR/steps.parquet  DIR/samples.parquet  DIR/marks.parquet   with a column `run`
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.attribution.case import TABLES
from benchmarks.attribution.corpus import Corpus
from benchmarks.attribution.plan import Planned

__all__ = ["export"]

NOTICE = (
    "Made by the model fleet of otel-attrib; Apache-2.0. Arrivals and lengths are drawn from Mooncake"
    " (Apache-2.0) and the Azure LLM inference trace 2023 (CC-BY-4.0, Microsoft). See docs/corpus.md."
)


def export(corpus: Corpus, runs: Sequence[Planned], folder: Path) -> None:
    """Write the runs, one table at a time, a row group a run."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_runs(corpus, runs, folder / "runs.parquet")
    for table in TABLES:
        _write_table(corpus, runs, table, folder / f"{table}.parquet")
    (folder / "NOTICE").write_text(NOTICE + "\n")


def _write_runs(corpus: Corpus, runs: Sequence[Planned], path: Path) -> None:
    rows = [_row(corpus, run) for run in runs]
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")


def _row(corpus: Corpus, run: Planned) -> dict[str, Any]:
    truth = corpus.truth(run)
    said = json.loads((corpus.case(run) / "run.json").read_text())
    return {
        "run": run.name,
        "family": run.family,
        "kind": run.kind,
        "seed": run.seed,
        "severity": run.severity,
        "load": run.load,
        "site": run.site,
        "half": "test" if run.frozen else "calibration",
        "baseline": said["baseline"],
        "current": said["current"],
        "culprits": ",".join(truth.culprits),
        "verdicts": ",".join(truth.verdicts),
        "delta_ms": truth.delta_ms,
        "truth": json.dumps(asdict(truth), sort_keys=True),
    }


def _write_table(corpus: Corpus, runs: Sequence[Planned], table: str, path: Path) -> None:
    writer = None
    for run in runs:
        rows = pq.read_table(corpus.case(run) / f"{table}.parquet")
        names = pa.array([run.name] * len(rows), pa.string()).dictionary_encode()
        rows = rows.add_column(0, "run", names.cast(pa.dictionary(pa.int32(), pa.string())))
        writer = writer or pq.ParquetWriter(path, rows.schema, compression="zstd")
        writer.write_table(rows.cast(writer.schema))
    if writer:
        writer.close()
