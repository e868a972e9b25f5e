"""What the operator asked for: the share of the rest, limits of slow and the trickle, by environment."""

import os
from dataclasses import dataclass

from otel_attrib.instrumentation.shim import say

__all__ = ["LEAST_SHARE", "TailRules", "tail_rules"]

SHARE = "OTEL_ATTRIB_TAIL_SAMPLE"
LIMITS = {
    "ttft": "OTEL_ATTRIB_TAIL_TTFT_MS",
    "tpot": "OTEL_ATTRIB_TAIL_TPOT_MS",
    "e2e": "OTEL_ATTRIB_TAIL_E2E_MS",
}
QUANTILE = "OTEL_ATTRIB_TAIL_QUANTILE"
TRICKLE = "OTEL_ATTRIB_TAIL_TRICKLE"

LEAST_SHARE = 0.001
"""A request that stood for more than a thousand others would not be believed by the store."""


@dataclass(frozen=True, slots=True)
class TailRules:
    """`share` of the rest in (0, 1); `limits_us` of ttft, tpot, e2e; `quantile` 0 or `trickle_s` 0: none."""

    share: float
    limits_us: dict[str, float]
    quantile: float = 0.95
    trickle_s: float = 10.0


def tail_rules() -> TailRules | None:
    """Read the rules; None where nobody asked for tail sampling, or asked for what cannot be."""
    asked = os.environ.get(SHARE, "").strip()
    if not asked:
        return None
    share = _number(SHARE, 1.0)
    if share >= 1:
        return None
    if share < LEAST_SHARE:
        say(f"{SHARE}={asked} keeps too little to count by: give {LEAST_SHARE} to 1; nothing is sampled away")
        return None
    limits = {name: 1000 * _number(variable, 0.0) for name, variable in LIMITS.items()}
    quantile = _number(QUANTILE, 0.95)
    return TailRules(
        share,
        {name: us for name, us in limits.items() if us > 0},
        quantile if 0 < quantile < 1 else 0.0,
        max(0.0, _number(TRICKLE, 10.0)),
    )


def _number(variable: str, default: float) -> float:
    text = os.environ.get(variable, "").strip()
    try:
        found = float(text) if text else default
    except ValueError:
        say(f"{variable}={text} is no number; {default:g} is taken")
        return default
    return found if found == found else default
