"""What the objectives ask of those who run the fleet: thresholds, scaling, shares. It recommends, never acts.

`decide` is the dynamic threshold loop as a function, `effective` which threshold holds by the log of its
decisions, `factors` and `budgets` the arbiter between tenants, `scaling` the same numbers as manifests.
"""

from otel_attrib.analytics.control.band import Band
from otel_attrib.analytics.control.budgets import Budget, budgets
from otel_attrib.analytics.control.decide import decide
from otel_attrib.analytics.control.decision import Decision
from otel_attrib.analytics.control.factors import Factor, Policy, Tail, factors
from otel_attrib.analytics.control.observed import Day, Observed
from otel_attrib.analytics.control.rule import ThresholdRule

__all__ = [
    "Band",
    "Budget",
    "Day",
    "Decision",
    "Factor",
    "Observed",
    "Policy",
    "Tail",
    "ThresholdRule",
    "budgets",
    "decide",
    "factors",
]
