"""What the threshold loop looks at: the quantile of one period, and what is usual in the long look back."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Day", "Observed"]


@dataclass(frozen=True, slots=True)
class Observed:
    """The quantile of the requests that arrived in the period before `end`; None when there was none."""

    end: datetime
    n: int
    ms: float | None


@dataclass(frozen=True, slots=True)
class Day:
    """The median of that quantile over those of the long look back's `periods` that were `measured`."""

    n: int
    ms: float | None
    measured: int
    periods: int

    @property
    def covered(self) -> float:
        """Return the share of its periods that were measured."""
        return self.measured / self.periods if self.periods else 0.0
