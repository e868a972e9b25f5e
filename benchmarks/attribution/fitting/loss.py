"""The fit: cross-entropy of a run's layer shares, ridge towards what an engineer would set, signs kept.

A run's shares are those of `judge_layers`: Σ_k part_k · (certain_k · softmax(prior[k] + Σ_j ± w_j s_kj)).
Signals that no scenario moves keep the weight they started from, which the ridge sees to.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from benchmarks.attribution.fitting.design import Design
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.layers import SIGNALS
from otel_attrib.analytics.evidence.model import UNEXPLAINED, softmax
from otel_attrib.analytics.evidence.signal import COLUMNS

__all__ = ["Fitted", "fit_weights", "shares_of"]

SIGN = np.array([1.0 if s.speaks_for else -1.0 for s in SIGNALS])
COLUMN = np.array([COLUMNS.index(s.layer) for s in SIGNALS])
LARGEST = np.array([10.0 if s.own and s.speaks_for else 5.0 if s.own else 3.0 for s in SIGNALS])
"""A pattern, or what was deployed, must never outweigh a layer's own counters."""
RIDGE, RIDGE_PRIOR = 3e-4, 2e-3


@dataclass(frozen=True)
class Fitted:
    """prior: (stages, columns) log-odds; weights: (J,) ≥ 0; temperature of both."""

    prior: Floats
    weights: Floats
    temperature: float = 1.0


def _logits(design: Design, fitted: Fitted) -> Floats:
    pushed = design.strengths * (SIGN * fitted.weights)
    out = fitted.prior[design.stage] + design.possible
    for column in range(len(COLUMNS)):
        out[:, column] += pushed[:, column == COLUMN].sum(axis=1)
    return out


def shares_of(design: Design, fitted: Fitted) -> tuple[Floats, Floats]:
    """Return (n, columns) shares of each run and (n, columns) pooled log-odds."""
    logits = _logits(design, fitted)
    pi = softmax(logits / fitted.temperature) * design.certain[:, None]
    pi[:, UNEXPLAINED] += 1 - design.certain
    n = design.weight.size
    shares, pooled = np.zeros((n, len(COLUMNS))), np.zeros((n, len(COLUMNS)))
    np.add.at(shares, design.run, design.part[:, None] * pi)
    np.add.at(pooled, design.run, design.part[:, None] * logits)
    shares[:, UNEXPLAINED] += 1 - shares.sum(axis=1)
    return shares, pooled


def fit_weights(
    design: Design, start: Fitted, ridge: float = RIDGE, ridge_prior: float = RIDGE_PRIOR
) -> Fitted:
    """Return the weights and priors that fit these runs; deterministic."""
    shape = start.prior.shape
    free = start.prior > -3.5  # a layer that has no part in a stage keeps out of it

    def unpack(x: Floats) -> Fitted:
        prior = start.prior.copy()
        prior[free] = x[len(SIGNALS) :]
        return Fitted(prior, x[: len(SIGNALS)])

    x0 = np.concatenate([start.weights, start.prior[free]])
    strength = np.concatenate([np.full(len(SIGNALS), ridge), np.full(int(free.sum()), ridge_prior)])

    def objective(x: Floats) -> tuple[float, Floats]:
        value, on_weights, on_prior = _loss(design, unpack(x), shape)
        apart = x - x0
        slope = np.concatenate([on_weights, on_prior[free]]) + 2 * strength * apart
        return value + float(strength @ apart**2), slope

    bounds = [(0.0, float(most)) for most in LARGEST] + [(-8.0, 8.0)] * int(free.sum())
    found = minimize(objective, x0, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 500})
    return unpack(np.asarray(found.x))


def _loss(design: Design, fitted: Fitted, shape: tuple[int, ...]) -> tuple[float, Floats, Floats]:
    """Return the weighted mean cross-entropy and its slopes on the weights and on the priors."""
    logits = _logits(design, fitted)
    pi = softmax(logits)
    shares = np.zeros_like(design.target)
    doubted = pi * design.certain[:, None]
    doubted[:, UNEXPLAINED] += 1 - design.certain
    np.add.at(shares, design.run, design.part[:, None] * doubted)
    shares[:, UNEXPLAINED] += 1 - shares.sum(axis=1)
    shares = np.maximum(shares, 1e-9)
    weight = design.weight / design.weight.sum()
    value = -float((weight[:, None] * design.target * np.log(shares)).sum())
    on_share = -(weight[:, None] * design.target / shares)[design.run]
    # What a row does not give to a layer falls to `unexplained` only through `certain`: pi sums to 1.
    on_pi = on_share * (design.part * design.certain)[:, None]
    on_logits = pi * (on_pi - (on_pi * pi).sum(axis=1, keepdims=True))
    on_prior = np.zeros(shape)
    np.add.at(on_prior, design.stage, on_logits)
    on_weights = (design.strengths * SIGN * on_logits[:, COLUMN]).sum(axis=0)
    return value, on_weights, on_prior
