"""An endpoint's P95 by hour and by day, and the limit that follows from it.

An endpoint is a service, a model and an operation. Its P95 is taken for every hour of the day (UTC) over the
last days; the proposal is the peak hour's P95 × 1.2, rounded up to two digits that matter, for 95 of 100
requests. Where an objective limits the endpoint already, it wants re-calibration when the P95 of each of the
last three whole days was above 0.9 × its limit. Hours with fewer than 100 requests make no peak; such a day
ends a run.
"""

from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

from otel_attrib.analytics.metric import Metric
from otel_attrib.analytics.windows import Window

__all__ = [
    "ENOUGH",
    "HEADROOM",
    "LEVEL",
    "NEAR",
    "RUNNING",
    "Cell",
    "Derived",
    "Endpoint",
    "Promised",
    "proposed",
]

LEVEL = 0.95
HEADROOM = 1.2
NEAR = 0.9
RUNNING = 3
ENOUGH = 100
"""Rows that leave five above a P95."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The P95 of one hour of the day (0 to 23), or of one day.

    It is of `n` requests by weight, which `rows` of the table stand for.
    """

    at: int | date
    n: int
    rows: int
    p95_ms: float

    @property
    def few(self) -> bool:
        """Return whether the rows would leave fewer than five above the quantile."""
        return self.rows < ENOUGH


@dataclass(frozen=True, slots=True)
class Promised:
    """An objective that limits the endpoint; `days_near` of the last days running were near its limit."""

    name: str
    sla_ms: float
    days_near: int

    @property
    def recalibrate(self) -> bool:
        """Return whether the promise wants to be made anew."""
        return self.days_near >= RUNNING


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint, with hours and days that held a request."""

    service: str
    model: str
    operation: str
    n: int
    hours: tuple[Cell, ...]
    days: tuple[Cell, ...]
    promised: tuple[Promised, ...]

    @property
    def peak(self) -> Cell | None:
        """Return the hour of day with the highest P95; None where none holds enough requests."""
        full = [cell for cell in self.hours if not cell.few]
        return max(full, key=lambda cell: cell.p95_ms) if full else None

    @property
    def proposal_ms(self) -> float | None:
        """Return the proposed limit; None without a peak."""
        return None if self.peak is None else proposed(self.peak.p95_ms)

    @property
    def name(self) -> str:
        """Write it as a person calls it: `chat/llama-8b`, with the operation where there is one."""
        return "/".join(word for word in (self.service, self.model, self.operation) if word)

    def values(self) -> dict[str, str]:
        """Return its dimensions."""
        return {"service": self.service, "model": self.model, "operation": self.operation}


@dataclass(frozen=True, slots=True)
class Derived:
    """Every endpoint of a span, in order of name."""

    metric: Metric
    span: Window
    endpoints: tuple[Endpoint, ...]


def proposed(peak_ms: float) -> float:
    """Return peak × 1.2, rounded up to two digits that matter: 97.3 becomes 120, 1234 becomes 1500."""
    raw = peak_ms * HEADROOM
    step = 10.0 ** (floor(log10(raw)) - 1)
    return float(f"{ceil(round(raw / step, 9)) * step:.12g}")
