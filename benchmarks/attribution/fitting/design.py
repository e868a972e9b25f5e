"""Runs as arrays: one row a stage that rose, its signals' strengths, and what the run's layers should be.

A run's target is the truth's share of each column: the paired ms of the layers that were broken, nothing
else; `unexplained` for a run in which nothing was broken. Parts sum to 1 over what is judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.attribution.fitting.seen import Seen
from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.model import UNEXPLAINED, measure
from otel_attrib.analytics.evidence.signal import COLUMNS

__all__ = ["STAGES", "Design", "design_of", "target_of"]

STAGES = (
    "ingress",
    "tokenize",
    "queue",
    "kv_init",
    "prefill",
    "sample",
    "egress",
    "outside",
    "decode_batch_wait",
    "decode_forward",
    "decode_sample",
    "decode_egress",
    "gap",
)
MEMORY = ("hbm_bandwidth",)
LEAST_WEIGHT = 0.02


@dataclass(frozen=True)
class Design:
    """R rows of J signals for n runs.

    run: (R,) which run; stage: (R,); part: (R,) of the run's rise; certain: (R,); strengths: (R, J), nought
    where a signal does not bear on the stage; possible: (R, columns); target: (n, columns); weight: (n,).
    """

    run: Ints
    stage: Ints
    part: Floats
    certain: Floats
    strengths: Floats
    possible: Floats
    target: Floats
    weight: Floats

    def take(self, runs: Ints) -> "Design":
        """Return the chosen runs, renumbered."""
        place = np.full(self.weight.size, -1)
        place[runs] = np.arange(runs.size)
        rows = place[self.run] >= 0
        return Design(
            place[self.run[rows]],
            self.stage[rows],
            self.part[rows],
            self.certain[rows],
            self.strengths[rows],
            self.possible[rows],
            self.target[runs],
            self.weight[runs],
        )


def design_of(seen: Sequence[Seen]) -> Design:
    """Lay out all runs; waiting whose replay missed its gate has a rule of its own and no row."""
    rows: list[tuple[int, int, float, float, Floats, Floats]] = []
    for number, one in enumerate(seen):
        found = measure(one.view)
        strengths = np.array([found[s.name].strength if found[s.name] else 0.0 for s in SIGNALS])  # type: ignore[union-attr] # checked beside it
        possible = np.zeros(len(COLUMNS))
        if one.view.hit.ranks == 1 or one.view.over_pcie:
            possible[COLUMNS.index("nvlink")] = -30.0
        parts = _parts(one)
        for stage, part in parts.items():
            bears = np.array([not s.stages or stage in s.stages for s in SIGNALS])
            certain = one.view.certain.get(stage, 0.0)
            share = part / sum(parts.values())
            rows.append((number, STAGES.index(stage), share, certain, strengths * bears, possible))
    return Design(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
        np.vstack([row[4] for row in rows]),
        np.vstack([row[5] for row in rows]),
        np.vstack([target_of(one) for one in seen]),
        np.array([_weight(one) for one in seen]),
    )


def target_of(one: Seen) -> Floats:
    """Return the (columns,) shares that the truth gives; the GPU's family says which of its columns."""
    target = np.zeros(len(COLUMNS))
    broken = {layer: max(0.0, ms) for layer, ms in one.truth.layers_ms.items()}
    whole = sum(broken.values())
    memory = any(kind in MEMORY for kind in one.truth.about.get("faults", ()))
    for layer, ms in broken.items():
        column = layer if layer in COLUMNS else "gpu.memory" if memory else "gpu.compute"
        target[COLUMNS.index(column)] += ms / whole if whole else 0.0
    target[UNEXPLAINED] += 1 - target.sum()
    return target


def _weight(one: Seen) -> float:
    """Return how much a run teaches: the part of its rise in stages, as far as the truth accounts for it.

    A change for the better teaches nothing of what is worse; waiting that no replay resolved is left out.
    """
    delta = one.books.delta.value
    rise = sum(max(0.0, ms) for ms in one.view.stages.values())
    judged = rise * sum(_parts(one).values())
    if delta <= 0 or not judged:
        return LEAST_WEIGHT
    size = judged / max(delta, rise, 0.5 * one.before_ms)
    if one.kind == "fault" and one.metric.name == "ttft":
        fault = sum(max(0.0, ms) for ms in one.truth.layers_ms.values())
        size *= min(fault, rise) / max(fault, rise, 1e-9)
    return float(np.clip(size, LEAST_WEIGHT, 1.0))


def _parts(one: Seen) -> dict[str, float]:
    """Return the parts of the rise that the weights divide: all but waiting with a rule of its own."""
    unresolved = one.view.replay_valid is False
    return {k: part for k, part in one.view.share.items() if part > 0 and not (k == "queue" and unresolved)}
