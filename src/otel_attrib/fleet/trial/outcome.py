"""What an arm did to the tenants: tails, attainment, tokens, fairness; over seeds with intervals.

Counted are the requests that arrived in the current window. Attainment is the share within the threshold
(equal meets it). Tokens are those delivered while the window lasted, whoever's request they belong to. Jain's
index of x is (Σx)² / (n·Σx²): 1 when all have the same, 1/n when one has everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.intervals import Estimate
from otel_attrib.fleet.trial.play import Arrivals, Played, order_statistic

__all__ = [
    "ARMS",
    "WHOLE",
    "Measures",
    "Trial",
    "estimate",
    "jain",
    "measure",
    "measures_of",
]

ARMS = ("open", "fixed", "boost", "throttle")
"""No gate; budgets of the usual shares; budgets that follow the arbiter, either way."""

WHOLE = "all tenants"


@dataclass(frozen=True, slots=True)
class Measures:
    """Of one tenant or of all, on one seed; NaN where no request arrived."""

    ttft_p95_ms: float
    ttft_p99_ms: float
    attained: float
    tokens_s: float
    held_ms: float


@dataclass(frozen=True, slots=True)
class Trial:
    """Every arm on every seed: `runs[arm][tenant]` in order of `seeds`, with `WHOLE` among the tenants.

    `fairness[arm]` is Jain's index over the tenants' attainment, by seed.
    """

    scenario: str
    seeds: tuple[int, ...]
    tenants: tuple[str, ...]
    shares: Mapping[str, float]
    thresholds_ms: Mapping[str, float]
    total: float
    demand: float
    runs: Mapping[str, Mapping[str, Sequence[Measures]]]
    fairness: Mapping[str, Sequence[float]]
    gate: str = "limit"

    def of(self, arm: str, tenant: str, name: str) -> Floats:
        """Return one measure of a tenant in an arm, by seed."""
        return np.array([getattr(each, name) for each in self.runs[arm][tenant]])

    def change(self, arm: str, against: str, tenant: str, name: str) -> Estimate:
        """Return arm − against, seed by seed."""
        return estimate(self.of(arm, tenant, name) - self.of(against, tenant, name))


def measures_of() -> tuple[str, ...]:
    """Return the names of the measures."""
    return tuple(entry.name for entry in fields(Measures))


def measure(
    arrivals: Arrivals, played: Played, thresholds_ms: Mapping[str, float]
) -> tuple[dict[str, Measures], float]:
    """Return one seed's measures by tenant, and Jain's index of their attainment."""
    spans, requests = arrivals.spans, arrivals.requests
    current = (requests.arrival >= spans.baseline_end) & (requests.arrival < spans.end)
    ttft, held = played.ttft * 1000, played.held * 1000
    limits = np.array([thresholds_ms[name] for name in arrivals.tenants])
    good = ttft <= limits[requests.tenant]
    then = (played.moments >= spans.baseline_end) & (played.moments < spans.end)
    length = spans.end - spans.baseline_end
    found = {}
    for number, name in enumerate(arrivals.tenants):
        mine = current & (requests.tenant == number)
        tokens = float((then & (played.owner == number)).sum()) / length
        found[name] = _measures(ttft[mine], good[mine], held[mine], tokens)
    fairness = jain(np.array([each.attained for each in found.values()]))
    found[WHOLE] = _measures(ttft[current], good[current], held[current], float(then.sum()) / length)
    return found, fairness


def _measures(ttft: Floats, good: Flags, held: Floats, tokens: float) -> Measures:
    if not ttft.size:
        return Measures(np.nan, np.nan, np.nan, tokens, np.nan)
    p95, p99 = order_statistic(ttft, 0.95), order_statistic(ttft, 0.99)
    return Measures(p95, p99, float(good.mean()), tokens, float(held.mean()))


def jain(values: Floats) -> float:
    """Return Jain's index of fairness; 1 where nobody has anything."""
    known = values[np.isfinite(values)]
    squares = float((known**2).sum())
    return float(known.sum() ** 2 / (known.size * squares)) if squares else 1.0


def estimate(by_seed: Floats) -> Estimate:
    """Return the mean over seeds with Student's variance of a mean."""
    n = by_seed.size
    variance = float(by_seed.var(ddof=1) / n) if n > 1 else 0.0
    return Estimate(float(by_seed.mean()), variance, n - 1.0)
