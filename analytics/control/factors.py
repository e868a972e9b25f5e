"""How much each tenant's share should be scaled, from its tail against its threshold.

    boost      factor = clamp(P95 / threshold, 0.5, 2)      a tenant in breach gets more
    throttle   factor = clamp(threshold / P95, 0.5, 2)      a tenant in breach gets less: the inverse

A tenant without a measured tail, or with fewer than `least` requests, keeps 1. Both refinements are off
unless asked for: with `smoothing` s in (0, 1] the new factor is factor^s · before^(1−s) (a mean of
logarithms, so that up and down weigh the same), and with `dead_band` h a factor that would differ from the
one before by less than h of it stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from otel_attrib.analytics.wording import milliseconds
from otel_attrib.errors import UsageError

__all__ = ["POLICIES", "Direction", "Factor", "Policy", "Tail", "clamped", "factors"]

Direction = Literal["boost", "throttle"]
POLICIES: tuple[Direction, ...] = ("boost", "throttle")


@dataclass(frozen=True, slots=True)
class Policy:
    """Which way, between which bounds, from how many requests."""

    direction: Direction = "boost"
    low: float = 0.5
    high: float = 2.0
    least: int = 20
    smoothing: float = 1.0
    dead_band: float = 0.0

    def __post_init__(self) -> None:
        """Refuse bounds that leave no factor of 1, and refinements that are none."""
        if not 0 < self.low <= 1 <= self.high:
            raise UsageError(f"factors from {self.low:g} to {self.high:g} do not hold 1")
        if not 0 < self.smoothing <= 1 or not 0 <= self.dead_band < 1:
            raise UsageError("smoothing lies in (0, 1] and the dead band in [0, 1)")
        if self.least < 1:
            raise UsageError(f"a factor needs at least 1 request, not {self.least}")


@dataclass(frozen=True, slots=True)
class Tail:
    """A tenant's requests of the last minute: how many, their quantile, and the threshold it is held to."""

    tenant: str
    n: int
    ms: float | None
    threshold_ms: float
    objective: str = ""


@dataclass(frozen=True, slots=True)
class Factor:
    """`raw` is before smoothing and dead band; `state` is breach, kept, no data or too few requests."""

    tenant: str
    value: float
    raw: float
    state: Literal["breach", "kept", "no data", "too few requests"]
    sentence: str
    tail: Tail


def clamped(policy: Policy, ms: float, threshold_ms: float) -> float:
    """Return the factor of one tail, before smoothing."""
    breach = ms / threshold_ms if ms > 0 else 0.0
    if policy.direction == "boost":
        return min(max(breach, policy.low), policy.high)
    return policy.high if breach * policy.high <= 1 else max(1 / breach, policy.low)


def factors(
    policy: Policy, tails: Iterable[Tail], before: Mapping[str, float] | None = None
) -> tuple[Factor, ...]:
    """Return a factor for each tail, in order of the tenants' names.

    A tenant with several tails (one an objective) gets the one that asks for the most: its worst ratio.
    `before` holds the factors of the last round, for smoothing and dead band.
    """
    worst: dict[str, Tail] = {}
    for tail in tails:
        held = worst.get(tail.tenant)
        if held is None or _badness(policy, tail) > _badness(policy, held):
            worst[tail.tenant] = tail
    return tuple(_factor(policy, worst[name], (before or {}).get(name, 1.0)) for name in sorted(worst))


def _badness(policy: Policy, tail: Tail) -> tuple[bool, float]:
    known = tail.ms is not None and tail.n >= policy.least
    return known, (tail.ms or 0.0) / tail.threshold_ms


def _factor(policy: Policy, tail: Tail, before: float) -> Factor:
    if tail.ms is None or tail.n == 0:
        return Factor(tail.tenant, 1.0, 1.0, "no data", "no request ended in the last minute: keeps 1", tail)
    if tail.n < policy.least:
        few = f"{tail.n} requests in the last minute, fewer than {policy.least}: keeps 1"
        return Factor(tail.tenant, 1.0, 1.0, "too few requests", few, tail)
    raw = clamped(policy, tail.ms, tail.threshold_ms)
    value = raw**policy.smoothing * before ** (1 - policy.smoothing)
    if abs(value - before) < policy.dead_band * before:
        value = before
    state: Literal["breach", "kept"] = "breach" if tail.ms > tail.threshold_ms else "kept"
    return Factor(tail.tenant, value, raw, state, _sentence(policy, tail, value), tail)


def _sentence(policy: Policy, tail: Tail, value: float) -> str:
    ms, threshold = tail.ms or 0.0, tail.threshold_ms
    ratio = ms / threshold if policy.direction == "boost" else threshold / ms if ms > 0 else policy.high
    cut = ", at its bound" if not policy.low < ratio < policy.high else ""
    shown, limit = milliseconds(ms), milliseconds(threshold)
    of = f"{shown} of {limit} ms" if policy.direction == "boost" else f"{limit} ms to {shown}"
    return f"{of} over {tail.n:,} requests: {value:.2f}{cut}"
