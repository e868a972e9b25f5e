"""The arbiter between tenants over a store: factors and budgets as recommendations, made anew whenever asked.

Nothing is remembered between two askings: with smoothing or a dead band the rounds of the last minute are
gone through again, beginning with a factor of 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from otel_attrib.analytics.control.budgets import Budget, budgets
from otel_attrib.analytics.control.factors import Factor, Policy, factors
from otel_attrib.analytics.control.judged import thresholds_in_force
from otel_attrib.analytics.control.tails import ROUND_S, WINDOW_S, Asked, rounds_of, usage
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives import Objective
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.schema.store import Store

__all__ = ["Arbitrated", "arbiter_object", "arbitrate", "budget_object"]

REMEMBERED = WINDOW_S // ROUND_S
NOTE = "a recommendation: nothing is changed in the engine"


@dataclass(frozen=True, slots=True)
class Arbitrated:
    """What was recommended at the end of a round; `weighed` says by what the usual shares go."""

    end: datetime
    asked: Asked
    policy: Policy
    parts: tuple[Budget, ...]
    total: float | None
    weighed: str


def arbitrate(
    store: Store,
    objectives: Sequence[Objective],
    now: datetime,
    policy: Policy | None = None,
    asked: Asked | None = None,
    weights: Mapping[str, float] | None = None,
    total: float | None = None,
) -> Arbitrated:
    """Recommend a factor and a share for every tenant that an objective holds to something.

    Without `weights` a tenant's usual share is that of the tokens it used in the last day; `total` is what
    there is to divide, in tokens a second.
    """
    policy, asked = policy or Policy(), asked or Asked()
    refined = policy.smoothing < 1 or policy.dead_band > 0
    several = Asked(asked.metric, asked.level, REMEMBERED if refined else 1)
    rounds = rounds_of(store, objectives, thresholds_in_force(store, objectives, now), several, now)
    before: dict[str, float] = {}
    found: tuple[Factor, ...] = ()
    for _, tails in rounds:
        found = factors(policy, tails, before)
        before = {one.tenant: one.value for one in found}
    end = rounds[-1][0]
    shares, weighed = _usual(store, found, end) if weights is None else (dict(weights), "weights given")
    return Arbitrated(end, asked, policy, budgets(found, shares, total), total, weighed)


def _usual(store: Store, found: Sequence[Factor], end: datetime) -> tuple[dict[str, float], str]:
    """Return weights by the tokens of the last day; who used none counts as the least of the others."""
    used = usage(store, EVERY_REQUEST, end)
    mine = {one.tenant: used.get(one.tenant, 0.0) for one in found}
    least = min((tokens for tokens in mine.values() if tokens > 0), default=0.0)
    if not least:
        return {}, "equal parts: no tokens were used in the last day"
    none = "; who used none counts as the least" if 0.0 in mine.values() else ""
    return {name: tokens or least for name, tokens in mine.items()}, f"tokens used in the last day{none}"


def arbiter_object(found: Arbitrated, seen: Sequence[Budget] | None = None) -> dict[str, Any]:
    """Return the factors for `--json` and the API; `seen` are the tenants that may be shown (all)."""
    return {
        "schema": "otel-attrib/arbiter/1",
        **_head(found),
        "items": [_factor(part.factor) for part in (found.parts if seen is None else seen)],
    }


def budget_object(found: Arbitrated, seen: Sequence[Budget] | None = None) -> dict[str, Any]:
    """Return the budgets likewise."""
    return {
        "schema": "otel-attrib/budget/1",
        **_head(found),
        "total_tokens_s": found.total,
        "weighed_by": found.weighed,
        "items": [
            {
                **_factor(part.factor),
                "usual_share": part.usual,
                "share": part.share,
                "tokens_s": part.tokens_s,
            }
            for part in (found.parts if seen is None else seen)
        ],
    }


def _head(found: Arbitrated) -> dict[str, Any]:
    return {
        "time": rfc3339(found.end),
        "metric": found.asked.metric,
        "definition": metric_named(found.asked.metric).definition,
        "quantile": found.asked.level,
        "window_s": WINDOW_S,
        "every_s": ROUND_S,
        "policy": asdict(found.policy),
        "note": NOTE,
    }


def _factor(one: Factor) -> dict[str, Any]:
    return {
        "tenant": one.tenant,
        "factor": one.value,
        "raw": one.raw,
        "state": one.state,
        "n": one.tail.n,
        "ms": one.tail.ms,
        "threshold_ms": one.tail.threshold_ms,
        "objective": one.tail.objective,
        "sentence": one.sentence,
    }
