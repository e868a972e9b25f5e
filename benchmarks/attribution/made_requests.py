"""Requests made up for measuring the mathematics alone: seven stages, heavy tails, one load behind them all.

Every fault changes the stages of rows that exist without it too, so what it did to each is known. No queue
stands behind a fault here (the fleet model has those). A fault hits the rows of some GPUs, of a stretch of
time, or rows that nothing marks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from otel_attrib.analytics.columns import Dimension, Flags, Floats, Ints, Rows

__all__ = ["BLOCKS", "FAULTS", "STAGES", "Fault", "Made", "blocks_of", "make"]

STAGES = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress")
BLOCKS = 80
SPAN_US = 900_000_000
GPUS = 4
Random = np.random.Generator
Change = Callable[[Floats, Flags, Random], None]


@dataclass(frozen=True)
class Made:
    """Rows with the fault and the same rows without it."""

    rows: Rows
    healthy: Rows


@dataclass(frozen=True)
class Fault:
    """What breaks, for which share of the rows, and by how much the mean log of the prompts moves."""

    change: Change
    share: float = 1.0
    by: Literal["gpu", "time", "nothing"] = "gpu"
    longer: float = 0.0


def _scale(**factors: float) -> Change:
    def change(parts: Floats, hit: Flags, random: Random) -> None:
        for stage, factor in factors.items():
            parts[hit, STAGES.index(stage)] *= factor

    return change


def _stall(stage: str, mean: float) -> Change:
    def change(parts: Floats, hit: Flags, random: Random) -> None:
        parts[hit, STAGES.index(stage)] += random.gamma(2.0, mean / 2, int(hit.sum()))

    return change


def _slower_when_busy(parts: Floats, hit: Flags, random: Random) -> None:
    busy = parts[:, STAGES.index("sample")] / np.median(parts[:, STAGES.index("sample")])
    parts[:, STAGES.index("prefill")] *= np.where(hit, np.maximum(1.0, busy**0.7), 1.0)


def _cold_cache(parts: Floats, hit: Flags, random: Random) -> None:
    prefill = STAGES.index("prefill")
    cold = hit & (random.random(hit.size) < CACHED)  # as many rows as had hits, at their cost without
    parts[cold, prefill] *= random.uniform(2.0, 4.0, int(cold.sum()))


CACHED = 0.4
NOTHING = _scale()

FAULTS = {
    "nothing": Fault(NOTHING),
    "prefill +25 %, all": Fault(_scale(prefill=1.25)),
    "prefill x1.6, 1 GPU of 4": Fault(_scale(prefill=1.6), 0.25),
    "prefill x1.6, unmarked 1/4": Fault(_scale(prefill=1.6), 0.25, "nothing"),
    "prefill slower when busy": Fault(_slower_when_busy),
    "prefixes not cached": Fault(_cold_cache),
    "copies x8, 2 GPUs of 4": Fault(_scale(kv_init=8.0), 0.5),
    "copies x8, a third of time": Fault(_scale(kv_init=8.0), 0.33, "time"),
    "scheduler waits x1.8": Fault(_scale(queue=1.8)),
    "tokenizer x6": Fault(_scale(tokenize=6.0)),
    "egress stalls, 5 %": Fault(_stall("egress", 60.0), 0.05, "nothing"),
    "ingress pauses, 1 %": Fault(_stall("ingress", 200.0), 0.01, "nothing"),
    "prefill x1.3, copies x6": Fault(_scale(prefill=1.3, kv_init=6.0)),
    "four stages x1.3": Fault(_scale(tokenize=1.3, kv_init=1.3, prefill=1.3, egress=1.3)),
    "longer prompts": Fault(NOTHING, longer=0.25),
    "longer prompts, copies x6": Fault(_scale(kv_init=6.0), longer=0.25),
}


def make(fault: str, n: int, seed: int) -> Made:
    """Make n requests of one window."""
    broken_by, random = FAULTS[fault], np.random.default_rng(seed)
    prompt = np.round(np.clip(np.exp(random.normal(6.3 + broken_by.longer, 0.8, n)), 1, 16_000))
    time, gpu = np.sort(random.integers(0, SPAN_US, n)), random.integers(0, GPUS, n)
    healthy = _stages(prompt, time, random)
    # The lowest of these are hit, so that a share of the rows lies on as few GPUs as can be.
    marks = {"gpu": (gpu + random.random(n)) / GPUS, "time": 1 - time / SPAN_US, "nothing": random.random(n)}
    broken = healthy.copy()
    broken_by.change(broken, marks[broken_by.by] < broken_by.share, random)
    return Made(_rows(broken, prompt, gpu, time), _rows(healthy, prompt, gpu, time))


def _stages(prompt: Floats, time: Ints, random: Random) -> Floats:
    n = prompt.size
    # Batch and neighbours: every stage feels the same load, part of which lasts for half a minute.
    slow = random.normal(size=31)[time * 30 // SPAN_US]
    load = np.exp(0.3 * random.normal(size=n) + 0.1 * slow)
    noise = np.exp(0.25 * random.normal(size=(n, len(STAGES))))
    waits = np.where(random.random(n) < np.minimum(0.9, 0.2 * load), random.pareto(3.0, n) * 18 * load, 0.0)
    uncached = np.where(random.random(n) < CACHED, random.uniform(0.2, 0.6, n), 1.0)
    columns = (
        0.3 + random.pareto(3.5, n) * 0.8,
        0.2 + 0.0015 * prompt,
        waits,
        1.0 + 0.004 * prompt * load,
        6.0 + 0.06 * prompt * uncached * load,
        1.5 * load,
        0.4 + random.pareto(2.8, n) * 1.2,
    )
    stages: Floats = np.column_stack(columns) * noise
    return stages


def _rows(parts: Floats, prompt: Floats, gpu: Ints, time: Ints) -> Rows:
    n = prompt.size
    return Rows(
        names=(*STAGES, "outside"),
        parts=np.column_stack([parts, np.zeros(n)]),
        observed=np.ones((n, len(STAGES) + 1), dtype=np.bool_),
        time_us=time.astype(np.int64),
        prompt=prompt,
        cached=np.zeros(n),
        output=np.full(n, 100.0),
        dims={
            "model": Dimension(np.zeros(n, dtype=np.int64), ("made",)),
            "node": Dimension(np.zeros(n, dtype=np.int64), ("node",)),
            "gpu_set": Dimension(gpu.astype(np.int64), tuple(f"GPU-{i}" for i in range(GPUS))),
        },
        cluster=np.arange(n),
        trace_ids=np.full(n, "", dtype=object),
        total=n,
    )


def blocks_of(rows: Rows) -> Ints:
    """Return the (n,) block of time of each row."""
    blocks: Ints = np.unique(rows.time_us * BLOCKS // SPAN_US, return_inverse=True)[1].astype(np.int64)
    return blocks
