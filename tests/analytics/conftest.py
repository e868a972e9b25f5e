"""An empty store for each test, and requests made up by a known recipe."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
STAMP = pa.timestamp("us", "UTC")
MEAN_LOG_US = {"ingress": 6, "tokenize": 7, "queue": 9, "kv_init": 5, "sample": 6, "egress": 6}
Requests = Callable[..., pa.Table]


@pytest.fixture
def requests() -> Requests:
    """Make a table of requests; see `make_requests`."""
    return make_requests


def make_requests(
    n: int,
    seed: int,
    start: datetime = NOON,
    minutes: float = 15,
    factors: Mapping[str, float] | None = None,
    missing: Mapping[str, float] | None = None,
    nodes: tuple[str, ...] = ("n0",),
    gaps: bool = False,
) -> pa.Table:
    """Return `n` requests from `start` on, as `requests` columns.

    Stages are log-normal, prefill grows with the prompt, `outside` is 1 ‰ of the rest. `factors` multiply
    stages, `missing` is the share of rows on which a stage is NULL (its time then stands in outside).
    """
    rng = np.random.default_rng(seed)
    factors, missing = factors or {}, missing or {}
    offsets = np.sort(rng.integers(0, int(minutes * 60_000_000), n))
    prompt = rng.lognormal(6, 0.6, n).astype(np.uint32) + 1
    output = rng.integers(2, 40, n).astype(np.uint32)
    stages = {name: rng.lognormal(mean, 0.5, n) for name, mean in MEAN_LOG_US.items()}
    stages["prefill"] = 60 * prompt * rng.lognormal(0, 0.2, n)
    stages = {name: us * factors.get(name, 1.0) for name, us in stages.items()}
    stages["outside"] = 0.001 * np.sum(list(stages.values()), axis=0)
    decode = {name: rng.lognormal(6, 0.3, n) * factors.get(f"decode_{name}", 1.0) for name in DECODE_STAGES}
    ttft, tpot = (np.sum(list(parts.values()), axis=0) for parts in (stages, decode))
    columns: dict[str, Any] = {
        "time": pa.array(
            [start + timedelta(microseconds=int(us)) for us in offsets], pa.timestamp("us", "UTC")
        ),
        "trace_id": [f"{seed:08x}{i:024x}" for i in range(n)],
        "service": ["chat"] * n,
        "model": rng.choice(["m0", "m1"], n).tolist(),
        "tenant": rng.choice(["acme", "zen"], n).tolist(),
        "node": rng.choice(nodes, n).tolist(),
        "status": ["ok"] * n,
        "source": ["otel_attrib"] * n,
        "prompt_tokens": prompt,
        "output_tokens": output,
        "ttft_us": ttft,
        "tpot_us": tpot,
        "e2e_us": ttft + tpot * (output - 1.0),
        **{f"{name}_us": _holed(rng, stages[name], missing.get(name, 0.0)) for name in STAGES},
        **{f"decode_{name}_us": decode[name] for name in DECODE_STAGES},
    }
    if gaps:
        each = [(tpot[i] * rng.lognormal(0, 0.3, output[i] - 1)).astype(np.float32) for i in range(n)]
        columns["gaps_us"] = pa.array([list(row) for row in each], pa.list_(pa.float32()))
    return pa.table(columns)


def _holed(rng: np.random.Generator, us: Any, share: float) -> pa.Array:
    return pa.array(us, mask=rng.random(us.size) < share)
