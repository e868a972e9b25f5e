"""Service level objectives: files, counts, budgets, burn rates, and what to promise in the first place."""

from otel_attrib.analytics.objectives.attained import Attained, attain
from otel_attrib.analytics.objectives.burn import BurnPair, burn_windows
from otel_attrib.analytics.objectives.objective import Limit, Objective, Timeslices
from otel_attrib.analytics.objectives.openslo import load_objectives

__all__ = [
    "Attained",
    "BurnPair",
    "Limit",
    "Objective",
    "Timeslices",
    "attain",
    "burn_windows",
    "load_objectives",
]
