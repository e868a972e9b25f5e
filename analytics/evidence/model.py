"""Evidence to probabilities: a multinomial logistic over the layers and `unexplained`, for every stage.

log-odds of column l for stage k = prior[k][l] + Σ_j ± w_j · s_j over the signals j of l that bear on k, with
w_j ≥ 0, + for signals that speak for and − for those that speak against; a softmax with a temperature makes
them π(l | k). Signals in s are 0…1 and monotone in what was measured, so more evidence for a layer never
lowers it. Four rules stand outside the fit:

- a layer for which nothing of its own speaks (a counter, steps, a request's own figures, the replayed queue)
  gets nothing of any stage, whatever its prior: that is unexplained;
- a layer whose sensors are missing gets at most 0.6 of a stage, the rest is unexplained;
- a stage whose change is not surely a rise keeps only as much of its row as it is sure (2·P(φ > 0) − 1);
- waiting whose replay missed its gate is the scheduler's only as far as its own counters say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.signal import COLUMNS, Finding
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.evidence.weights import Weights

__all__ = ["CAP", "SPOKEN", "UNEXPLAINED", "Judged", "judge_view", "layer_of", "measure", "softmax"]

CAP = 0.6
SPOKEN = 0.15
"""The strength from which on a signal counts as one; below it is noise that no line of a report tells."""
UNEXPLAINED = COLUMNS.index("unexplained")
IMPOSSIBLE = -30.0
WAITING = "queue"


@dataclass(frozen=True)
class Judged:
    """`pi[stage]` is (columns,) and sums to 1; `p` is (columns,), of the change as a whole.

    `suspected[stage]` is `pi` before the layers that nothing speaks for lost their part: what to ask about.
    """

    pi: dict[str, Floats]
    p: Floats
    suspected: dict[str, Floats]


def layer_of(column: str) -> str:
    """Return the layer of a column: `gpu` for `gpu.memory`."""
    return column.partition(".")[0]


def measure(view: View) -> dict[str, Finding | None]:
    """Return every signal's finding by name; None where its sensor is missing."""
    return {signal.name: signal.measure(view) for signal in SIGNALS}


def softmax(logits: Floats) -> Floats:
    """Return probabilities along the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    out: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return out


def stage_logits(stage: str, strengths: Mapping[str, float], weights: Weights) -> Floats:
    """Return the (columns,) log-odds of one stage."""
    logits = weights.stage_prior(stage).copy()
    for signal in SIGNALS:
        if signal.stages and stage not in signal.stages:
            continue
        push = weights.weights.get(signal.name, 0.0) * strengths.get(signal.name, 0.0)
        logits[COLUMNS.index(signal.layer)] += push if signal.speaks_for else -push
    return logits


def judge_view(
    view: View, findings: Mapping[str, Finding | None], missing: Mapping[str, object], weights: Weights
) -> Judged:
    """Return how each stage's change divides over the columns, and the probability of each as a cause."""
    strengths = {name: found.strength for name, found in findings.items() if found is not None}
    logits = {stage: _possible(stage_logits(stage, strengths, weights), view) for stage in view.stages}
    pi = {stage: _capped(softmax(row / weights.temperature), missing) for stage, row in logits.items()}
    if view.replay_valid is False and WAITING in pi:
        pi[WAITING] = _unreplayed(strengths)
    suspected = {stage: _doubted(row, view.certain.get(stage, 0.0)) for stage, row in pi.items()}
    pi = {stage: _spoken_for(stage, row, strengths, view) for stage, row in suspected.items()}
    return Judged(pi, _capped(_pooled(logits, view, weights), missing), suspected)


def _spoken_for(stage: str, row: Floats, strengths: Mapping[str, float], view: View) -> Floats:
    """Move what priors alone deal to a layer to `unexplained`."""
    heard = {
        layer_of(signal.layer)
        for signal in SIGNALS
        if signal.own and signal.speaks_for and strengths.get(signal.name, 0.0) >= SPOKEN
    }
    if stage == WAITING and view.replay_valid:
        heard.add("scheduler")
    silent = [number for number, column in enumerate(COLUMNS) if layer_of(column) not in heard]
    silent.remove(UNEXPLAINED)
    row = row.copy()
    row[UNEXPLAINED] += row[silent].sum()
    row[silent] = 0.0
    return row


def _possible(logits: Floats, view: View) -> Floats:
    """Engines of one card, or of cards that talk over PCIe, have no NVLink to be slow."""
    if view.hit.ranks == 1 or view.over_pcie:
        logits[COLUMNS.index("nvlink")] = IMPOSSIBLE
    return logits


def _capped(row: Floats, missing: Mapping[str, object]) -> Floats:
    row = row.copy()
    for layer in missing:
        mine = [number for number, column in enumerate(COLUMNS) if layer_of(column) == layer]
        mass = row[mine].sum()
        if mass > CAP:
            row[mine] *= CAP / mass
            row[UNEXPLAINED] += mass - CAP
    return row


def _unreplayed(strengths: Mapping[str, float]) -> Floats:
    """Give unresolved waiting to the scheduler as far as its own counters say so and nothing else is wrong.

    Where services are slower, or another layer's own counters moved, a full queue is what follows from it.
    """
    own, other = _loudest(strengths, scheduler=True), _loudest(strengths, scheduler=False)
    row = np.zeros(len(COLUMNS))
    row[COLUMNS.index("scheduler")] = own * (1 - strengths.get("services_slower", 0.0)) * (1 - other)
    row[UNEXPLAINED] = 1 - row.sum()
    return row


def _loudest(strengths: Mapping[str, float], scheduler: bool) -> float:
    """Return the strongest own counter of the scheduler, or of all other layers."""
    mine = [s for s in SIGNALS if s.speaks_for and s.own and (s.layer == "scheduler") == scheduler]
    return max(strengths.get(signal.name, 0.0) for signal in mine)


def _doubted(row: Floats, certain: float) -> Floats:
    row = row * certain
    row[UNEXPLAINED] += 1 - certain
    return row


def _pooled(logits: Mapping[str, Floats], view: View, weights: Weights) -> Floats:
    """Return one row for the whole change: log-odds averaged over stages by their part of the rise."""
    if not any(view.share.values()):
        row = np.zeros(len(COLUMNS))
        row[UNEXPLAINED] = 1.0
        return row
    pooled = sum((view.share[stage] * row for stage, row in logits.items()), np.zeros(len(COLUMNS)))
    return softmax(pooled / weights.temperature_p)
