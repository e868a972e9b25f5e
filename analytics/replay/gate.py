"""Whether the model of the engine may be believed: replayed waits against the observed ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otel_attrib.analytics.harrell_davis import quantile

__all__ = ["LEAST_R2", "MOST_P99_ERROR", "Fit", "fit_of"]

Floats = NDArray[np.float64]

LEAST_R2 = 0.8
MOST_P99_ERROR = 0.15


@dataclass(frozen=True, slots=True)
class Fit:
    """R² of replayed waits (1 = exact), and how far their P99 is off, as a share of the observed one."""

    r2: float
    p99_error: float

    @property
    def good(self) -> bool:
        """Return whether a counterfactual may rest on it."""
        return self.r2 >= LEAST_R2 and abs(self.p99_error) <= MOST_P99_ERROR

    def __str__(self) -> str:
        """Say both figures."""
        return f"R² {self.r2:.2f}, P99 of waits {self.p99_error:+.0%}"


def fit_of(observed: Floats, replayed: Floats) -> Fit:
    """Return the fit of (n,) replayed to (n,) observed waits."""
    spread = float(((observed - observed.mean()) ** 2).sum())
    missed = float(((observed - replayed) ** 2).sum())
    tail = quantile(observed, 0.99)
    r2 = 1 - missed / spread if spread > 0 else float(missed == 0)
    return Fit(r2, quantile(replayed, 0.99) / tail - 1 if tail > 0 else 0.0)
