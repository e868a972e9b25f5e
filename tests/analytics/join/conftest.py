"""A small fleet in a store: requests with stages, and counters of their cards and hosts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.schema.attributes import STAGES
from otel_attrib.schema.context_counters import EVERY_COUNTER, registered
from otel_attrib.schema.store import Store

STAMP = pa.timestamp("us", "UTC")
START = 1_777_636_800_000_000  # 2026-05-01T12:00:00Z
Rows = list[tuple[int, str, str, str, float, dict[str, str]]]


@pytest.fixture
def put_samples(store: Store) -> Callable[[Rows], None]:
    """Insert samples given as (µs after START, key, node, device, value, attributes)."""

    def put(rows: Rows) -> None:
        counters = [registered(row[1]) for row in rows]
        attributes = [
            list((row[5] | (dict([counter.select]) if counter.select else {})).items())
            for row, counter in zip(rows, counters, strict=True)
        ]
        columns = {
            "time": pa.array([START + row[0] for row in rows], STAMP),
            "metric": [counter.metric for counter in counters],
            "node": [row[2] for row in rows],
            "device": [row[3] for row in rows],
            "attributes": pa.array(attributes, pa.map_(pa.string(), pa.string())),
            "value": pa.array([row[4] for row in rows], pa.float64()),
        }
        store.insert_arrow("samples", pa.table(columns))

    return put


@pytest.fixture
def put_requests(store: Store) -> Callable[..., None]:
    """Insert rows of `requests`; see `make_request`."""

    def put(*rows: dict[str, Any]) -> None:
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0] if name != "time_us"}
        columns["time"] = pa.array([row["time_us"] for row in rows], STAMP)
        for name in columns:
            if name.endswith("_us"):
                columns[name] = pa.array(columns[name], pa.float64())
        store.insert_arrow("requests", pa.table(columns))

    return put


def make_request(number: int, at_us: int, **changed: Any) -> dict[str, Any]:
    """A request of 100 ms queue, 400 ms prefill, 20 ms egress and 1.5 s of decode on card 0 of n1."""
    stages: dict[str, Any] = {f"{stage}_us": None for stage in STAGES}
    stages |= {"queue_us": 100_000.0, "prefill_us": 400_000.0, "egress_us": 20_000.0, "outside_us": 0.0}
    row = {
        "time_us": START + at_us, "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
        "service": "chat", "node": "n1", "gpu_set": "n1:0", "replica": "0", "model": "m", "status": "ok",
        "prompt_tokens": 1000, "cached_tokens": 0, "output_tokens": 50,
        "ttft_us": 520_000.0, "e2e_us": 2_020_000.0, **stages,
    }  # fmt: skip
    return row | changed


@pytest.fixture
def request_row() -> Callable[..., dict[str, Any]]:
    """Make one row; see `make_request`."""
    return make_request


@pytest.fixture
def random_fleet() -> Callable[[int], tuple[dict[str, Any], Rows]]:
    """Make a request and counters of its two nodes at random: see `make_random`."""
    return make_random


def make_random(seed: int) -> tuple[dict[str, Any], Rows]:
    """Return a request at a random moment with random stages, and samples with all that can be odd."""
    rng = np.random.default_rng(seed)
    stages: dict[str, float | None] = {f"{stage}_us": float(rng.integers(0, 10**9) / 1e3) for stage in STAGES}
    for stage in rng.choice(STAGES[:-1], rng.integers(0, 4), replace=False):
        stages[f"{stage}_us"] = None
    ttft = sum(us for us in stages.values() if us is not None)
    sets = ("n1:0", "0,1", "GPU-1", "", "n1:0;n2:1", "n2:0", "n1:9", "n1:1:2", "n1:GPU-5ab1c2d3")
    changed = stages | {"ttft_us": ttft, "e2e_us": ttft + float(rng.integers(0, 10**10) / 1e3)}
    request = make_request(seed, int(rng.integers(0, 5_000_000)), gpu_set=sets[seed % len(sets)], **changed)
    rows: Rows = []
    chosen = rng.choice(np.array(EVERY_COUNTER, dtype=object), 14, replace=False)
    for counter in dict.fromkeys([*chosen.tolist(), registered("gpu_throttle_time")]):
        for node in ("n1", "n2", "n3"):
            for device in ("0", "1", "1:2") if counter.per_device else ("",):
                rows += _series(rng, counter.key, node, device)
    if seed % 3:
        rows += [(0, "clock_uncertainty", node, "", 1e-3 * seed, {}) for node in ("n1", "n2")]
    rows += [(5_000_000, "gpu_memory_limit", "n1", "1", 8e10, {"slatag.gpu.uuid": "GPU-5ab1c2d3-9"})]
    order = rng.permutation(len(rows))
    return request, [rows[number] for number in order]


def _series(rng: np.random.Generator, key: str, node: str, device: str) -> Rows:
    """One to three series of one counter: steady or with restarts, wraps, twice at one time, nonsense."""
    counter, rows = registered(key), []
    for number in range(rng.integers(1, 4)):
        every = int(10 ** rng.uniform(4.5, 7.3))
        n = min(300, max(1, 30_000_000 // every))
        time = np.cumsum(rng.integers(every // 2, every + 1, n)) - 8_000_000
        if counter.kind == "total":
            value = np.cumsum(rng.uniform(0, 5, n)) + float(rng.choice([0.0, 4_294_967_200.0]))
            value = np.where(value >= 2**32, value - 2**32, value)
            value[n // 2 :] = (
                np.cumsum(rng.uniform(0, 5, n - n // 2)) if rng.random() < 0.3 else value[n // 2 :]
            )
        else:
            value = rng.uniform(0, min(1.05 * counter.most, 100.0), n)
        if n > 3 and rng.random() < 0.3:
            time[1] = time[2]
            value[n // 3] = -1.0
        attributes = {"slatag.link": str(number)}
        if rng.random() < 0.2:
            attributes |= {"slatag.source": str(rng.choice(["ebpf", "proc"]))}
        if rng.random() < 0.2:
            attributes |= {"slatag.clock_uncertainty_us": str(int(rng.integers(1, 2000)))}
        rows += [
            (int(at), key, node, device, float(number), attributes)
            for at, number in zip(time, value, strict=True)
        ]
    return rows
