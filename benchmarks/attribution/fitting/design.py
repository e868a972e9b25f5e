"""Runs as arrays: one row a stage that rose, its signals' strengths, and what the run's layers should be.

A run's target is the truth's share of each column: the paired ms of the layers that were broken, nothing
else; `unexplained` for a run in which nothing was broken. A run counts by how much of its rise the truth
explains, so that chance between two windows teaches little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.attribution.fitting.seen import Seen
from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.model import UNEXPLAINED, layer_of, measure
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
        for stage, part in one.view.share.items():
            if part <= 0 or (stage == "queue" and one.view.replay_valid is False):
                continue
            bears = np.array([not s.stages or stage in s.stages for s in SIGNALS])
            certain = one.view.certain.get(stage, 0.0)
            rows.append((number, STAGES.index(stage), part, certain, strengths * bears, possible))
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
    """Return how much a run teaches: the part of the rise in its stages that the truth accounts for."""
    rise = sum(max(0.0, ms) for ms in one.view.stages.values())
    if not rise:
        return LEAST_WEIGHT
    if one.kind != "fault" or one.metric.name != "ttft":
        return float(np.clip(rise / max(0.5 * one.before_ms, 1.0), LEAST_WEIGHT, 1.0))
    fault = sum(max(0.0, ms) for ms in one.truth.layers_ms.values())
    return float(np.clip(min(fault, rise) / max(fault, rise, 1e-9), LEAST_WEIGHT, 1.0))


def column_layer() -> list[str]:
    """Return the layer of each column."""
    return [layer_of(column) for column in COLUMNS]
