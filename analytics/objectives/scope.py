"""Which objectives somebody sees, and on whose requests, when they may see certain tenants only."""

from collections.abc import Sequence
from dataclasses import replace

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.objectives.objective import Objective

__all__ = ["in_scope"]


def in_scope(objectives: Sequence[Objective], tenants: Sequence[str]) -> tuple[Objective, ...]:
    """Return the objectives on requests of `tenants`, each counted on theirs alone; no tenants means all.

    An objective on another tenant is not there at all; its name would already say something.
    """
    if not tenants:
        return tuple(objectives)
    seen = (_seen(objective, tenants) for objective in objectives)
    return tuple(objective for objective in seen if objective is not None)


def _seen(objective: Objective, tenants: Sequence[str]) -> Objective | None:
    allowed = dict(objective.where.allowed)
    ours = tuple(tenant for tenant in allowed.get("tenant", tenants) if tenant in tenants)
    if not ours:
        return None
    allowed["tenant"] = ours
    return replace(objective, where=Filter(tuple(sorted(allowed.items()))))
