"""Requests made up for measuring the mathematics alone: seven stages, heavy tails, one load behind them all.

Every fault changes the stages of rows that exist without it too, so what it did to each is known. No queue
stands behind a fault here (the fleet model has those).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Dimension, Floats, Ints, Rows

__all__ = ["BLOCKS", "FAULTS", "STAGES", "Made", "blocks_of", "make"]

STAGES = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress")
BLOCKS = 80
SPAN_US = 900_000_000
Random = np.random.Generator


@dataclass(frozen=True)
class Made:
    """Rows with the fault and the same rows without it; `mixed`: the work is not the baseline's."""

    rows: Rows
    healthy: Rows
    mixed: bool


def _nothing(parts: Floats, hit: Floats, random: Random) -> None:
    pass


def _scale(stage: str, factor: float, share: float) -> Callable[[Floats, Floats, Random], None]:
    def change(parts: Floats, hit: Floats, random: Random) -> None:
        parts[hit < share, STAGES.index(stage)] *= factor

    return change


def _stall(stage: str, mean: float, share: float) -> Callable[[Floats, Floats, Random], None]:
    def change(parts: Floats, hit: Floats, random: Random) -> None:
        stalled = hit < share
        parts[stalled, STAGES.index(stage)] += random.gamma(2.0, mean / 2, int(stalled.sum()))

    return change


def _both(
    *changes: Callable[[Floats, Floats, Random], None],
) -> Callable[[Floats, Floats, Random], None]:
    def change(parts: Floats, hit: Floats, random: Random) -> None:
        for one in changes:
            one(parts, hit, random)

    return change


FAULTS: dict[str, tuple[Callable[[Floats, Floats, Random], None], float]] = {
    "nothing": (_nothing, 0.0),
    "prefill +25 %, every GPU": (_scale("prefill", 1.25, 1.0), 0.0),
    "prefill x1.6, 1 GPU of 4": (_scale("prefill", 1.6, 0.25), 0.0),
    "copies x8, half": (_scale("kv_init", 8.0, 0.5), 0.0),
    "scheduler waits x1.8": (_scale("queue", 1.8, 1.0), 0.0),
    "tokenizer x6": (_scale("tokenize", 6.0, 1.0), 0.0),
    "egress stalls, 5 %": (_stall("egress", 60.0, 0.05), 0.0),
    "prefill x1.3 and copies x6": (_both(_scale("prefill", 1.3, 1.0), _scale("kv_init", 6.0, 1.0)), 0.0),
    "longer prompts": (_nothing, 0.25),
    "longer prompts, copies x6": (_scale("kv_init", 6.0, 1.0), 0.25),
}
"""What is broken, and by how much the mean log of the prompts is moved."""


def make(fault: str, n: int, seed: int) -> Made:
    """Make n requests of one window."""
    change, longer = FAULTS[fault]
    random = np.random.default_rng(seed)
    prompt = np.round(np.clip(np.exp(random.normal(6.3 + longer, 0.8, n)), 1, 16_000))
    healthy = _stages(prompt, random)
    gpu = random.integers(0, 4, n)
    hit = (gpu + random.random(n)) / 4  # the share that is hit lies on as few GPUs as can be
    broken = healthy.copy()
    change(broken, hit, random)
    time = np.sort(random.integers(0, SPAN_US, n))
    return Made(_rows(broken, prompt, gpu, time), _rows(healthy, prompt, gpu, time), longer != 0)


def _stages(prompt: Floats, random: Random) -> Floats:
    n = prompt.size
    load = np.exp(0.35 * random.normal(size=n))  # batch and neighbours: every stage feels the same one
    noise = np.exp(0.25 * random.normal(size=(n, len(STAGES))))
    waits = np.where(random.random(n) < np.minimum(0.9, 0.2 * load), random.pareto(3.0, n) * 18 * load, 0.0)
    columns = (
        0.3 + random.pareto(3.5, n) * 0.8,
        0.2 + 0.0015 * prompt,
        waits,
        1.0 + 0.004 * prompt * load,
        6.0 + 0.06 * prompt * load,
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
            "gpu_set": Dimension(gpu.astype(np.int64), tuple(f"GPU-{i}" for i in range(4))),
        },
        cluster=np.arange(n),
        trace_ids=np.full(n, "", dtype=object),
        total=n,
    )


def blocks_of(rows: Rows) -> Ints:
    """Return the (n,) block of time of each row."""
    blocks: Ints = rows.time_us * BLOCKS // SPAN_US
    return np.unique(blocks, return_inverse=True)[1].astype(np.int64)
