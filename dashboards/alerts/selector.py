"""Which series an objective is about: its condition as a Prometheus selector, and whether one can say it.

A histogram tells exactly how many requests took up to one of its bounds, on labels that it has. What
needs more (all limits at once, a limit between two bounds, a tenant where the histograms have none, the
longest gap of a request) is taken from the burn rates that the service exports, which it counts from the
requests themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.analytics.exposition.bounds import HISTOGRAMS
from otel_attrib.analytics.exposition.latencies import LABELS, OPTIONAL
from otel_attrib.analytics.exposition.matcher import matcher
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.errors import UsageError

__all__ = ["Series", "obstacle", "selector", "untellable"]

WHOLE_REQUESTS = ("ttft", "tpot", "e2e")
"""Latencies of which a request has one, so that a histogram's count is a count of requests."""


@dataclass(frozen=True, slots=True)
class Series:
    """One limit in a histogram: its series, as selectors."""

    count: str
    within: str
    failed: str

    @classmethod
    def of(cls, limit: Limit, where: str) -> "Series":
        """Return the series of a limit, at its own bound or else the nearest above."""
        histogram = HISTOGRAMS[limit.metric]
        bound = histogram.above(limit.ms)
        if bound is None:
            raise UsageError(f"no bucket of {histogram.name} reaches {limit.ms:g} ms")
        own = _and(where, 'slatag_status="ok"' if limit.metric == "e2e" else "")
        within = _and(own, f'le="{bound / 1000!r}"')
        failed = _and(where, 'slatag_status=~"error|timeout"')
        return cls(
            f"{histogram.name}_count{{{own}}}",
            f"{histogram.name}_bucket{{{within}}}",
            f"otel_attrib_requests_total{{{failed}}}",
        )


def _and(*matchers: str) -> str:
    return ",".join(filter(None, matchers))


def selector(objective: Objective, labels: Sequence[str] = ()) -> str:
    """Return the matchers of an objective's condition, without braces; `labels` are words of `OPTIONAL`."""
    known = _known(labels)
    return ",".join(matcher(known[name], values) for name, values in objective.where.allowed if name in known)


def _known(labels: Sequence[str]) -> dict[str, str]:
    """Return column → label."""
    optional = {column: label for word, (label, column) in OPTIONAL.items() if word in labels}
    return {**{column: label for label, column in LABELS.items()}, **optional}


def obstacle(objective: Objective, labels: Sequence[str] = ()) -> str:
    """Return why histograms cannot tell exactly how an objective stands, or nothing."""
    return untellable(objective, labels) or _between(objective)


def untellable(objective: Objective, labels: Sequence[str] = ()) -> str:
    """Return why they cannot tell it whatever bounds they have, or nothing."""
    if objective.slices is not None:
        return "it counts slices of time, not requests"
    if objective.joint and len(objective.limits) > 1:
        return "a request has to meet several limits at once, and histograms know each alone"
    for name, _ in objective.where.allowed:
        if name not in _known(labels):
            asked = f"; setting metrics_labels can add {name}" if name in OPTIONAL else ""
            return f"the histograms have no label for {name}{asked}"
    if any(limit.metric not in WHOLE_REQUESTS for limit in objective.limits):
        return "a TBT limit is one on the longest gap of a request, and the histogram is of single gaps"
    return ""


def _between(objective: Objective) -> str:
    for limit in objective.limits:
        if not HISTOGRAMS[limit.metric].is_exact(limit.ms):
            return (
                f"{limit.ms:g} ms is no bound of {HISTOGRAMS[limit.metric].name} (near it: {_near(limit)} ms)"
            )
    return ""


def _near(limit: Limit) -> str:
    bounds = sorted(HISTOGRAMS[limit.metric].stored_ms, key=lambda bound: abs(bound - limit.ms))[:2]
    return " and ".join(f"{bound:g}" for bound in sorted(bounds))
