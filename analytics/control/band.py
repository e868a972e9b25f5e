"""Between which thresholds the loop may move: the class's baseline ± its buffer."""

from dataclasses import dataclass
from math import inf

from otel_attrib.errors import UsageError

__all__ = ["Band"]


@dataclass(frozen=True, slots=True)
class Band:
    """`baseline_ms` ± `buffer_ms`; without a baseline there is no bound."""

    baseline_ms: float | None = None
    buffer_ms: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a band that reaches down to nothing."""
        if self.baseline_ms is not None and not 0 <= self.buffer_ms < self.baseline_ms:
            raise UsageError(f"a buffer of {self.buffer_ms:g} ms around {self.baseline_ms:g} ms is no band")

    @property
    def floor_ms(self) -> float:
        """Return the lowest threshold; 0 without a baseline."""
        return 0.0 if self.baseline_ms is None else self.baseline_ms - self.buffer_ms

    @property
    def ceiling_ms(self) -> float:
        """Return the highest threshold; infinite without a baseline."""
        return inf if self.baseline_ms is None else self.baseline_ms + self.buffer_ms

    def clamp(self, ms: float) -> float:
        """Return the nearest threshold inside."""
        return min(max(ms, self.floor_ms), self.ceiling_ms)

    def __str__(self) -> str:
        """Write it as people do."""
        return "no band" if self.baseline_ms is None else f"{self.baseline_ms:g} ± {self.buffer_ms:g} ms"
