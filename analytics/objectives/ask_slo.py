"""Where objectives stand, as the service answers it."""

from collections.abc import Sequence
from typing import Any

from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.objectives.count_cache import CountCaches
from otel_attrib.analytics.objectives.minutes import count_minutes, last_minute
from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.slo_object import SCHEMA, history_points, slo_object, standing_object
from otel_attrib.analytics.objectives.standing import MINUTE, standing
from otel_attrib.analytics.objectives.tally import Tally
from otel_attrib.analytics.question import end_of
from otel_attrib.schema.store import Store

__all__ = ["ask_objective", "ask_slo"]


def ask_slo(store: Store, caches: CountCaches, objectives: Sequence[Objective], at: str) -> dict[str, Any]:
    """Return what `otel-attrib slo --json` prints."""
    found = _minutes(store, caches, objectives, at)
    return slo_object([standing(each, minutes) for each, minutes in zip(objectives, found, strict=True)])


def ask_objective(
    store: Store,
    caches: CountCaches,
    objectives: Sequence[Objective],
    name: str,
    at: str,
    history: bool,
) -> dict[str, Any]:
    """Return one of the objectives by name, with its history where asked; LookupError if there is none."""
    objective = {each.name: each for each in objectives}[name]
    asked = objectives if at == "now" else [objective]  # all share what is kept; else it alone is read
    minutes = _minutes(store, caches, asked, at)[asked.index(objective)]
    body = {"schema": SCHEMA, **standing_object(standing(objective, minutes))}
    return body | ({"history": history_points(objective, minutes)} if history else {})


def _minutes(store: Store, caches: CountCaches, objectives: Sequence[Objective], at: str) -> list[Tally]:
    """Return the counts of all objectives, whose cache they share."""
    if not objectives:
        return []
    minute = last_minute(end_of(store, at, EVERY_REQUEST), whole=at == "newest")
    if at == "now":
        return caches.of(tuple(objectives)).upto(store, minute)
    longest = max(each.window for each in objectives) // MINUTE
    return count_minutes(store, objectives, minute - longest, minute, pieces=True)
