"""The truth of a simulation: runs with and without each fault, the same requests and the same chance.

`layers`: ΔP99 in ms of each layer at fault: q(B with the fault) − q(B without), for two faults each one's
Shapley share of both. `stages`: the same change by stage, over the paired requests: with
T_θ = (1 − θ)·T_off + θ·T_on, φ_k = ∫ E[x_k,on − x_k,off | T_θ = q_θ] dθ. What is left, q(B without) − q(A),
is workload, load and the chance of two different windows.
"""

from dataclasses import dataclass, field

import numpy as np

from otel_attrib.analytics.columns import Flags, Floats
from otel_attrib.analytics.harrell_davis import quantile, weights

__all__ = ["Truth", "quantile_of", "stage_shares"]

_MIDPOINTS = 16


@dataclass(frozen=True)
class Truth:
    """What is true of one run and one metric at one level; times in ms."""

    kind: str
    families: tuple[str, ...]
    layers: dict[str, float]
    stages: dict[str, float]
    fault_ms: float
    workload_ms: float
    before_ms: float
    after_ms: float
    delta_ms: float
    verdicts: tuple[str, ...]
    where: tuple[str, ...] = ()
    shift: str = "none"
    shift_line: str = ""
    decoys: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    hit: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def as_dict(self) -> dict[str, object]:
        """Return it for JSON, without the flags of the requests hit."""
        return {name: value for name, value in self.__dict__.items() if name != "hit"} | {
            "requests_hit": int(self.hit.sum())
        }


def quantile_of(values: Floats, level: float) -> float:
    """Return the Harrell–Davis quantile."""
    return float(quantile(np.sort(values), level))


def stage_shares(off: Floats, on: Floats, level: float) -> Floats:
    """Return (K,) ms: how much of q(on) − q(off) each stage brought; (n, K) ms of the same requests each."""
    change = on - off
    base, step = off.sum(axis=1), change.sum(axis=1)
    weight = weights(len(base), level)
    found = np.zeros(off.shape[1])
    for place in range(_MIDPOINTS):
        order = np.argsort(base + (place + 0.5) / _MIDPOINTS * step, kind="stable")
        found += weight @ change[order] / _MIDPOINTS
    total = quantile_of(on.sum(axis=1), level) - quantile_of(base, level)
    size = np.abs(found).sum()
    found += (total - found.sum()) * (np.abs(found) / size if size > 0 else 0.0)
    return found
