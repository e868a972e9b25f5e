"""The model of the engine against two recorded vLLM runs whose settings are published."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.blocks import block_ids
from otel_attrib.analytics.change.decompose import decompose
from otel_attrib.analytics.harrell_davis import quantile
from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.period import Period, rows_of
from otel_attrib.analytics.replay import replay_queue
from otel_attrib.analytics.replay.calibrate import calibrate
from otel_attrib.analytics.windows import Window

RECORDED = Path(__file__).parents[2] / "fixtures/llmservingsim"
START = datetime(2026, 4, 25, 18, tzinfo=UTC)
SEATS = 128  # max_num_seqs of both runs


def recorded(name: str) -> Period:
    """One run: every request waits from `queued_ts` to `scheduled_ts`."""
    lines = gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]

    def seconds(key: str) -> Any:
        return np.array([row[key] for row in rows], dtype=np.float64)

    queued = seconds("queued_ts") - seconds("queued_ts").min()
    first, last = seconds("first_token_ts"), seconds("last_token_ts")
    stamps = [START + timedelta(seconds=float(at)) for at in queued]
    table = pa.table(
        {
            "time": pa.array(stamps, pa.timestamp("us", "UTC")),
            "trace_id": [row["request_id"] for row in rows],
            "service": ["vllm"] * len(rows),
            "prompt_tokens": pa.array([row["input_toks"] for row in rows], pa.uint32()),
            "output_tokens": pa.array([row["output_toks"] for row in rows], pa.uint32()),
            "queue_us": (seconds("scheduled_ts") - seconds("queued_ts")) * 1e6,
            "prefill_us": (first - seconds("scheduled_ts")) * 1e6,
            "ttft_us": (first - seconds("queued_ts")) * 1e6,
            "e2e_us": (last - seconds("queued_ts")) * 1e6,
        }
    )
    end = START + timedelta(seconds=float((last - seconds("queued_ts").min()).max()) + 1)
    return Period(Window(START, end), rows_of(table, METRICS["ttft"]), table)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-32b"])
def test_recorded_waits_are_replayed(name: str) -> None:
    """Waits of up to 20 and 90 s come out with R² ≥ 0.95 and P99 within 5 %; the seats are found to a few."""
    run = recorded(name)
    model = calibrate(run, run)

    assert model.fit.r2 >= 0.95
    assert abs(model.fit.p99_error) <= 0.05
    assert abs(model.limits[0].seats - SEATS) <= 3


def test_a_run_with_slower_decoding_is_explained() -> None:
    """The larger model on the same requests waits longer because it serves slower, not for the scheduler."""
    a, b = recorded("llama-3.1-8b"), recorded("qwen3-32b")
    blocks = [block_ids(period.rows, period.window) for period in (a, b)]
    change = decompose(a.rows, b.rows, 0.9, blocks[0], blocks[1])
    replay = replay_queue(a, b, change, 0.9)
    served = replay.stages["prefill"].value + replay.stages["decode_forward"].value

    assert replay.valid, replay.reason
    assert served > 0.85 * (quantile(b.rows.values, 0.9) - quantile(a.rows.values, 0.9))
    assert abs(replay.stages["queue"].value) < 0.15 * change.delta.value
