"""A made-up run in the corpus's shape: one thing differs between its two windows."""

import itertools
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.attribution.case import Case, read_case, write_case
from otel_attrib.analytics.windows import Window

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")
LENGTH = timedelta(minutes=5)
LOG_US = {"ingress": 6, "tokenize": 7, "queue": 8, "kv_init": 6, "prefill": 10, "sample": 6, "egress": 6}
NUMBERS = itertools.count()
Made = Callable[..., Case]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Make a run with `slow` = {stage: factor} on one node of the current window, and a counter off there."""

    def make(slow: dict[str, float] | None = None, counter: str = "", n: int = 2000) -> Case:
        before = _requests(n, 1, NOON, {})
        after = _requests(n, 2, NOON + LENGTH, slow or {})
        tables = {
            "requests": pa.concat_tables([before, after]),
            "steps": pa.table({}),
            "samples": _samples(counter),
            "marks": pa.table({}),
        }
        windows = Window(NOON, NOON + LENGTH), Window(NOON + LENGTH, NOON + 2 * LENGTH)
        folder = tmp_path / f"made-{next(NUMBERS)}"
        write_case(folder, tables, windows)
        return read_case(folder)

    return make


def _requests(n: int, seed: int, start: datetime, slow: dict[str, float]) -> pa.Table:
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, int(LENGTH.total_seconds() * 1e6), n))
    node = np.array([f"n{k}" for k in rng.integers(0, 4, n)])
    stages = {name: rng.lognormal(mean, 0.5, n) for name, mean in LOG_US.items()}
    for name, factor in slow.items():
        stages[name] = np.where(node == "n1", stages[name] * factor, stages[name])
    total = sum(stages.values())
    return pa.table(
        {
            "time": pa.array([start + timedelta(microseconds=int(us)) for us in time], STAMP),
            "trace_id": [f"{seed}-{k}" for k in range(n)],
            "node": node,
            "gpu_set": np.char.add(node, ":GPU-0"),
            "tenant": [f"t{k}" for k in rng.integers(0, 3, n)],
            "status": ["ok"] * n,
            "prompt_tokens": rng.integers(100, 2000, n).astype(np.uint32),
            "output_tokens": rng.integers(2, 40, n).astype(np.uint32),
            "ttft_us": total,
            **{f"{name}_us": us for name, us in stages.items()},
        }
    )


def _samples(counter: str) -> pa.Table:
    """Clock and CRC errors of four cards every 5 s; the one named is off on n1 in the second window."""
    columns: dict[str, list[object]] = {
        k: [] for k in ("time", "metric", "node", "device", "attributes", "value")
    }
    for k in range(120):
        for node in ("n0", "n1", "n2", "n3"):
            bad = k >= 60 and node == "n1"
            clock = 900.0 if bad and counter == "gpu_clock" else 1700.0 + k % 7
            errors = 5.0 * (k - 59) if bad and counter == "nvlink_crc" else 0.0
            for metric, attributes, value in (
                ("hw.gpu.clock.graphics", [], clock),
                ("hw.errors", [("error.type", "nvlink_crc")], errors),
            ):
                row = (NOON + timedelta(seconds=5 * k), metric, node, "GPU-0", attributes, value)
                for column, cell in zip(columns.values(), row, strict=True):
                    column.append(cell)
    types = {"time": STAMP, "attributes": pa.map_(pa.string(), pa.string()), "value": pa.float64()}
    return pa.table({name: pa.array(cells, types.get(name, pa.string())) for name, cells in columns.items()})
