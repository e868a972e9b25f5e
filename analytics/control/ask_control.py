"""Questions about thresholds, shares and pressure from the words of a command line or of a request."""

from collections.abc import Sequence
from datetime import datetime
from math import isfinite
from typing import Any

from otel_attrib.analytics.control.arbiter import Arbitrated, arbitrate
from otel_attrib.analytics.control.factors import Policy
from otel_attrib.analytics.control.judged import judge, judged_object
from otel_attrib.analytics.control.observe import LAG_S
from otel_attrib.analytics.control.pressure import pressure_object
from otel_attrib.analytics.control.rule import ThresholdRule
from otel_attrib.analytics.control.tails import Asked
from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.objectives import Objective
from otel_attrib.analytics.question import end_of
from otel_attrib.analytics.windows import parse_duration, parse_window
from otel_attrib.errors import UsageError
from otel_attrib.schema.decisions import DecisionRow, decision_rows
from otel_attrib.schema.store import Store

__all__ = ["ask_arbiter", "ask_pressure", "ask_thresholds", "lag_of", "logged", "rule_of", "weights_of"]


def rule_of(period: str, day: str) -> ThresholdRule:
    """Return the rule with these two lengths."""
    lengths = (int(parse_duration(text).total_seconds()) for text in (period, day))
    period_s, day_s = lengths
    return ThresholdRule(period_s=period_s, day_s=day_s)


def lag_of(at: str) -> int:
    """Return how many seconds a period waits for its requests to be stored: none where a time is given."""
    return LAG_S if at == "now" else 0


def ask_thresholds(
    store: Store,
    objectives: Sequence[Objective],
    at: str,
    period: str,
    day: str,
    scope: Filter,
    log: str | None = None,
) -> dict[str, Any]:
    """Judge once, dry; `log` adds the decisions kept in that span."""
    rule, now = rule_of(period, day), end_of(store, at, scope)
    found = judge(store, objectives, rule, now, lag_of(at))
    rows = [] if log is None else logged(store, objectives, log, now)
    return judged_object(found, rule, applied=False, log=rows)


def logged(store: Store, objectives: Sequence[Objective], log: str, now: datetime) -> list[DecisionRow]:
    """Return the decisions about objectives that were kept in the span `log` up to `now`."""
    span = parse_window(log, now)
    return decision_rows(store, span.start, span.end, tuple(each.name for each in objectives))


def ask_arbiter(
    store: Store,
    objectives: Sequence[Objective],
    at: str,
    policy: Policy,
    asked: Asked,
    scope: Filter,
    weights: dict[str, float] | None = None,
    total: float | None = None,
) -> Arbitrated:
    """Recommend shares at a time."""
    return arbitrate(store, objectives, end_of(store, at, scope), policy, asked, weights, total)


def ask_pressure(
    store: Store, objective: Objective, at: str, window: str, metric: str | None, scope: Filter
) -> dict[str, Any]:
    """Return an objective's number for autoscalers."""
    return pressure_object(store, objective, end_of(store, at, scope), parse_duration(window), metric)


def weights_of(words: Sequence[str]) -> dict[str, float] | None:
    """Read `tenant=number` words; None where there are none."""
    found = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not equals or not (0 <= weight and isfinite(weight)):
            raise UsageError(f"{word!r} is no tenant with its number: write acme=2")
        if name in found:
            raise UsageError(f"tenant {name!r} is given twice: {word!r}")
        found[name] = weight
    return found or None
