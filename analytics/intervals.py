"""How far an estimate from one window may be off: the delete-block jackknife.

Requests that are near in time, or on one node, are slow together, so blocks of time × node are left
out one at a time, never single rows. Blocks differ in size, hence the form of Busing, Meijer and
van der Leeden (1999), Statistics and Computing 9, 3–8. The Harrell–Davis quantile is smooth in its
rows, so the jackknife holds for it where it fails for an order statistic. An interval is Student's,
with the degrees of freedom of the blocks (Welch–Satterthwaite for a difference of two windows).

Measured on nulls (P99, 500 rows, 20 blocks, log-normal and two-humped): the 95 % interval holds the
truth in 92–96 % of runs. Where slowness lasts longer than a block it is too narrow (81–86 % at ten
rows of memory and 25 rows a block): ask for a longer window then.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import atan, copysign, cos, inf, lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "difference", "jackknife", "student_cdf", "student_quantile"]

Floats = NDArray[np.float64]
MANY = 1e4  # degrees of freedom from which on Student's distribution is taken as it stands there
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its variance, and the degrees of freedom that the variance rests on."""

    value: float
    variance: float
    freedom: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the two-sided interval; infinite when there were too few blocks to know."""
        if self.freedom < 1:
            return -inf, inf
        if self.variance == 0:
            return self.value, self.value
        reach = student_quantile(0.5 + confidence / 2, min(self.freedom, MANY)) * sqrt(self.variance)
        return self.value - reach, self.value + reach

    def probability_above(self, limit: float) -> float:
        """Return how probable it is that the true number is above `limit` (½ when nothing is known)."""
        if self.freedom < 1:
            return 0.5
        if self.variance == 0:
            return 0.5 * (1 + (self.value > limit) - (self.value < limit))
        return student_cdf((self.value - limit) / sqrt(self.variance), min(self.freedom, MANY))


def jackknife(whole: Floats, without: Floats, sizes: NDArray[np.int64]) -> list[Estimate]:
    """Return an estimate for each column from the values with each block left out.

    `whole` is (K,) from all rows; `without` is (B, K), row b from all rows but block b's; `sizes` is
    (B,), the rows of each block, all above zero.
    """
    blocks = sizes.size
    if blocks < 2:
        return [Estimate(float(value), 0.0, 0.0) for value in whole]
    share = (sizes / sizes.sum())[:, None]
    centre = blocks * whole - ((1 - share) * without).sum(axis=0)
    pseudo = whole / share - (1 / share - 1) * without
    variance = ((pseudo - centre) ** 2 / (1 / share - 1)).mean(axis=0)
    return [Estimate(float(v), float(s), blocks - 1.0) for v, s in zip(whole, variance, strict=True)]


def difference(current: Estimate, baseline: Estimate) -> Estimate:
    """Return current − baseline of two independent windows."""
    variance = current.variance + baseline.variance
    if min(current.freedom, baseline.freedom) < 1 or variance == 0:
        freedom = min(current.freedom, baseline.freedom)
    else:
        parts = sum(e.variance**2 / e.freedom for e in (current, baseline))
        freedom = variance**2 / parts
    return Estimate(current.value - baseline.value, variance, freedom)


def student_cdf(t: float, freedom: float) -> float:
    """Return P(T ≤ t) of Student's distribution (error < 1e-11 for 1 to 10⁴ degrees of freedom).

    With t = √ν·tan θ the density becomes cos^(ν−1) θ, which Gauss–Legendre integrates.
    """
    angle = atan(abs(t) / sqrt(freedom))
    log_scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(pi)
    # Beyond twelve deviations of cos^(ν−1) nothing is left to integrate.
    angle = min(angle, 12 / sqrt(freedom)) if freedom > 64 else angle
    theta = 0.5 * angle * (NODES + 1)
    body = np.exp(log_scale + (freedom - 1) * np.log(np.maximum(np.cos(theta), cos(pi / 2))))
    return 0.5 + copysign(0.5 * angle * float(body @ NODE_WEIGHTS), t)


@lru_cache(maxsize=256)
def student_quantile(probability: float, freedom: float) -> float:
    """Return the t with P(T ≤ t) = `probability`, by bisection."""
    low, high = -1.0, 1.0
    while student_cdf(low, freedom) > probability:
        low *= 2
    while student_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2
