"""Requests of every kind of outcome, and a second implementation of what became of them, in plain Python.

Beside them an OpenSLO file without a fault, and what is said of one that has a fault.
"""

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.errors import DataError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Row = dict[str, Any]
Limits = dict[str, float]
GOOD_FILE = """\
apiVersion: openslo/v1
kind: SLO
metadata:
  name: chat
  annotations:
    otel-attrib.dev/class: gold
    otel-attrib.dev/baseline-ms: "120"
    otel-attrib.dev/actions: pinned-cpus
spec:
  service: chat
  indicator:
    metadata: {name: i}
    spec:
      ratioMetric:
        counter: true
        good:
          metricSource:
            type: otel-attrib
            spec:
              limits: {ttft: 450ms}
              where: {model: m}
        total:
          metricSource:
            type: otel-attrib
            spec:
              where: {model: m}
  timeWindow:
    - duration: 30d
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - target: 0.99
"""


def random_rows(n: int, seed: int, minutes: int = 15) -> list[Row]:
    """Make requests: answered, failed, given up early and late, unmeasured, of one token, weighted."""
    rng = random.Random(seed)
    return [_row(rng, minutes) for _ in range(n)]


def _row(rng: random.Random, minutes: int) -> Row:
    status = rng.choices(["ok", "error", "timeout", "aborted"], [85, 4, 3, 8])[0]
    tokens = rng.choice([0, 1, 2, 5, 40]) if status == "ok" else rng.choice([0, 0, 3])
    ttft = rng.uniform(20, 200) if tokens else None
    tpot = rng.uniform(5, 50) if tokens > 1 else None
    e2e = (ttft or rng.uniform(1, 400)) + (tpot or 0) * max(0, tokens - 1)
    gaps = [rng.uniform(1, 100) for _ in range(max(0, tokens - 1))]
    return {
        "time": NOON + timedelta(microseconds=rng.randrange(minutes * 60_000_000)),
        "service": "chat",
        "model": rng.choice(["m0", "m1"]),
        "tenant": rng.choice(["acme", "zen", "x"]),
        "status": status,
        "output_tokens": tokens,
        "weight": rng.choice([1, 1, 1, 7]),
        "ttft_us": _or_none(rng, ttft),
        "tpot_us": _or_none(rng, tpot),
        "e2e_us": _or_none(rng, e2e),
        "gap_max_us": _or_none(rng, max(gaps, default=None), 0.5),
        "gaps_us": [float(f"{1000 * gap:.0f}") for gap in gaps] if rng.random() < 0.7 else [],
    }


def _or_none(rng: random.Random, ms: float | None, share: float = 0.1) -> float | None:
    """Return µs, or nothing where nothing is to be measured or, for a share of the rest, was."""
    return None if ms is None or rng.random() < share else 1000 * ms


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Return rows as a table of `requests`."""
    rows = list(rows)
    types = {"time": pa.timestamp("us", "UTC"), "gaps_us": pa.list_(pa.float32())}
    types |= {name: pa.uint32() for name in ("output_tokens", "weight")}
    types |= {name: pa.float64() for name in ("ttft_us", "tpot_us", "e2e_us", "gap_max_us")}
    names = list(rows[0])
    return pa.table({name: pa.array([row[name] for row in rows], types.get(name)) for name in names})


def became(row: Row, limits: Limits) -> str | None:
    """Say what became of a request: good, bad, unmeasured, or None where no limit is about it."""
    verdicts = [_under(row, metric, 1000 * ms) for metric, ms in limits.items()]
    if row["status"] in ("error", "timeout") or "bad" in verdicts:
        return "bad"
    if "unmeasured" in verdicts:
        return "unmeasured"
    return "good" if "good" in verdicts else None


def _under(row: Row, metric: str, limit_us: float) -> str | None:
    ok, tokens, e2e = row["status"] == "ok", row["output_tokens"], row["e2e_us"]
    value = row["gap_max_us"] if metric == "tbt" else row[f"{metric}_us"]
    if metric == "tbt" and value is None and row["gaps_us"]:
        value = max(row["gaps_us"])
    if metric == "e2e" and not ok:  # given up: what is known is that it lasted so long
        return "bad" if e2e is not None and e2e > limit_us else None
    if value is not None:
        return "good" if value <= limit_us else "bad"
    if metric == "ttft" and not ok and e2e is not None and e2e > limit_us:
        return "bad"
    expected = {"ttft": ok and tokens > 0, "tpot": ok and tokens > 1, "tbt": ok and tokens > 1, "e2e": ok}
    return "unmeasured" if expected[metric] else None


def counted(rows: Iterable[Row], limits: Limits) -> dict[str, int]:
    """Count outcomes by weight, and the rows judged."""
    found = {"good": 0, "bad": 0, "unmeasured": 0, "rows": 0}
    for row in rows:
        outcome = became(row, limits)
        if outcome is not None:
            found[outcome] += row["weight"]
            found["rows"] += outcome != "unmeasured"
    return found


@pytest.fixture
def made() -> Callable[..., list[Row]]:
    """Make random requests; see `random_rows`."""
    return random_rows


@pytest.fixture
def tabled() -> Callable[[Iterable[Row]], pa.Table]:
    """Turn rows into a table of requests."""
    return table_of


@pytest.fixture
def second() -> Callable[[Iterable[Row], Limits], dict[str, int]]:
    """Count rows with the second implementation."""
    return counted


@pytest.fixture
def good_slo() -> str:
    """A file in which nothing is wrong."""
    return GOOD_FILE


@pytest.fixture
def told(tmp_path: Path) -> Callable[[str], str]:
    """What is said of a file with some text, its path written as FILE."""

    def told(text: str) -> str:
        file = tmp_path / "slo.yaml"
        file.write_text(text)
        with pytest.raises(DataError) as fault:
            load_objectives(file)
        return str(fault.value).replace(str(file), "FILE")

    return told
