"""The RS cases: a minute in which a video service stalled, the minutes before it, and who was to blame."""

import ast
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from otel_attrib.analytics.columns import Dimension, Flags, Ints

__all__ = ["Case", "Causes", "cases"]

FOLDER = Path(__file__).parent / "data/riskloc"
MINUTE_S = 60

Causes = frozenset[frozenset[tuple[str, str]]]
"""Slices, each a set of (attribute, value)."""


@dataclass(frozen=True)
class Case:
    """Rows of the anomalous minute and of those before: dims, minute (0 is the oldest), sessions, bad ones.

    `now` marks the anomalous minute's rows.
    """

    name: str
    dims: dict[str, Dimension]
    minute: Ints
    sessions: Ints
    bad: Ints
    now: Flags
    causes: Causes


def cases(minutes: int) -> Iterator[Case]:
    """Yield every case with at most so many minutes before the anomaly."""
    for label in _labels():
        path = FOLDER / f"{label['data']}.csv.gz"
        if path.exists():
            yield _case(path, label, minutes)


def _labels() -> list[dict[str, Any]]:
    """Read the label file, a YAML list of three plain keys each."""
    found: list[dict[str, Any]] = []
    for line in (FOLDER / "anomaly.yaml").read_text("utf-8").splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if key == "data":
            found.append({key: value.strip()})
        elif key in ("timestamp", "cause"):
            found[-1][key] = ast.literal_eval(value.strip())
    return found


def _case(path: Path, label: dict[str, Any], minutes: int) -> Case:
    table = pl.read_csv(gzip.decompress(path.read_bytes()), infer_schema_length=0)
    at = table["min"].cast(pl.Int64).to_numpy()
    age = (label["timestamp"] - at) // MINUTE_S
    chosen = (age >= 0) & (age <= minutes)
    table, age = table.filter(pl.Series(chosen)), age[chosen]
    counts = {name: table[name].cast(pl.Float64).to_numpy().astype(np.int64) for name in ("cnt", "value")}
    causes = label["cause"] if isinstance(label["cause"], list) else [label["cause"]]
    return Case(
        name=label["data"],
        dims={
            name: Dimension.of(table[name].fill_null("").to_numpy().astype(np.str_))
            for name in table.columns
            if name not in ("min", "cnt", "value")
        },
        minute=np.unique(-age, return_inverse=True)[1].astype(np.int64),
        sessions=counts["cnt"],
        bad=counts["value"],
        now=age == 0,
        causes=frozenset(frozenset((k, str(v)) for k, v in cause.items()) for cause in causes),
    )
