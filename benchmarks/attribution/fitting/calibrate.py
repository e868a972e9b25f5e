"""Temperatures and the threshold, on fault families that the weights were not fitted on."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.attribution.fitting.design import Design, design_of
from benchmarks.attribution.fitting.loss import Fitted, fit_weights, shares_of
from benchmarks.attribution.fitting.seen import Seen
from otel_attrib.analytics.columns import Floats
from otel_attrib.analytics.evidence.judge import layers_of
from otel_attrib.analytics.evidence.model import softmax
from otel_attrib.analytics.evidence.weights import Weights
from otel_attrib.analytics.verdict import Facts, conclude

__all__ = ["Answered", "answers", "left_out", "temperatures", "threshold"]

Answered = tuple[str, float, bool, bool]
"""A run, the p of what was named, whether it is right, and whether something was broken."""
WRONG = 0.05
LOWEST, HIGHEST = 0.5, 0.99
QUIET = "nothing broken"


def family_of(one: Seen) -> str:
    """Return what is left out together; runs with nothing broken are dealt out by name."""
    if one.kind == "fault":
        return one.family
    return f"{QUIET} {sum(map(ord, one.run)) % 5}"


def left_out(seen: Sequence[Seen], start: Fitted) -> dict[str, Fitted]:
    """Return, for each family, the weights fitted on all others."""
    design = design_of(seen)
    families = np.array([family_of(one) for one in seen])
    return {
        str(family): fit_weights(design.take(np.flatnonzero(families != family)), start)
        for family in np.unique(families)
    }


def temperatures(seen: Sequence[Seen], folds: dict[str, Fitted]) -> tuple[float, float]:
    """Return the temperatures of the shares and of p that fit the left-out families best."""
    design = design_of(seen)
    families = np.array([family_of(one) for one in seen])
    parts: list[tuple[Design, Fitted]] = [
        (design.take(np.flatnonzero(families == family)), fitted) for family, fitted in folds.items()
    ]

    def shares_loss(log_t: float) -> float:
        t = float(np.exp(log_t))
        return sum(_entropy(part, shares_of(part, Fitted(f.prior, f.weights, t))[0]) for part, f in parts)

    def p_loss(log_t: float) -> float:
        t = float(np.exp(log_t))
        return sum(_entropy(part, softmax(shares_of(part, f)[1] / t)) for part, f in parts)

    return _best(shares_loss), _best(p_loss)


def _best(loss: Callable[[float], float]) -> float:
    found = minimize_scalar(loss, bounds=(np.log(0.5), np.log(5.0)), method="bounded")
    return float(np.exp(found.x))


def _entropy(design: Design, shares: Floats) -> float:
    return -float((design.weight[:, None] * design.target * np.log(np.maximum(shares, 1e-9))).sum())


def answers(seen: Sequence[Seen], weights_of: Callable[[Seen], Weights], least: float) -> list[Answered]:
    """Return what the verdict names, with the threshold at `least`."""
    out = []
    for one in seen:
        weights = weights_of(one)
        layers = layers_of(one.books, one.view, weights)
        facts = Facts(one.tail_rows, 1.0, least)
        verdict = conclude(one.metric, one.books.delta, one.before_ms, layers, facts)
        if verdict.layers:
            p = sum(layers.lines[name].p for name in verdict.layers)
            right = verdict.layers[0] in one.truth.culprits
            out.append((one.run, p, right, bool(one.truth.culprits)))
    return out


def threshold(answered: Sequence[Answered]) -> float:
    """Return the lowest t at which at most 5 % of what is named is wrong, one more wrong answer counted in.

    Where no t reaches that (too few answers), the t of the least share of wrong ones.
    """
    steps = sorted({LOWEST, *(p for _, p, _, _ in answered if LOWEST <= p <= HIGHEST)})
    shares = [_wrong([right for _, p, right, _ in answered if p >= t]) for t in steps]
    found = next((t for t, share in zip(steps, shares, strict=True) if share <= WRONG), None)
    t = steps[int(np.argmin(shares))] if found is None else found
    return float(np.floor(t * 1e4) / 1e4)


def _wrong(right: Sequence[bool]) -> float:
    return (len(right) - sum(right) + 1) / (len(right) + 1)
