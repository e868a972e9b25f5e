"""What each tenant may use of a total, from its usual share and its factor.

    share_k = w_k · f_k / Σ w · f        budget_k = total · share_k

so budgets add up to the total whatever the factors are, and equal factors leave the usual shares. A budget
rises with its tenant's own factor and falls with any other's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

from otel_attrib.analytics.control.factors import Factor
from otel_attrib.errors import UsageError

__all__ = ["Budget", "budgets"]


@dataclass(frozen=True, slots=True)
class Budget:
    """One tenant's part; `usual` is its share with all factors at 1, `tokens_s` None without a total."""

    tenant: str
    usual: float
    share: float
    tokens_s: float | None
    factor: Factor


def budgets(
    found: Sequence[Factor], weights: Mapping[str, float] | None = None, total: float | None = None
) -> tuple[Budget, ...]:
    """Divide `total` tokens a second, or only 1, among the tenants of `found`.

    A tenant without a weight has 1; all have 1 when none are given.
    """
    if total is not None and not (total > 0 and isfinite(total)):
        raise UsageError(f"a total of {total:g} tokens/s divides nothing")
    usual = {one.tenant: (weights or {}).get(one.tenant, 1.0) for one in found}
    if any(not (weight >= 0 and isfinite(weight)) for weight in usual.values()):
        raise UsageError("a weight is a number from 0 up")
    scaled = {one.tenant: usual[one.tenant] * one.value for one in found}
    whole, before = fsum(scaled.values()), fsum(usual.values())
    if found and whole <= 0:
        raise UsageError("the weights of all tenants add up to nothing")
    return tuple(
        Budget(
            one.tenant,
            usual[one.tenant] / before,
            scaled[one.tenant] / whole,
            None if total is None else total * scaled[one.tenant] / whole,
            one,
        )
        for one in found
    )
