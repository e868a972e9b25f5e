"""A service level objective: which requests, which limits, how many of them have to be met, over how long.

A request is good when it met every limit (a value equal to the limit meets it) and did not fail.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.metric import metric_named
from otel_attrib.analytics.objectives.burn import BurnPair, burn_windows
from otel_attrib.errors import UsageError

__all__ = ["Limit", "Objective", "Timeslices"]

SHORTEST, LONGEST = timedelta(hours=1), timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Limit:
    """The longest a latency may be; `metric` is ttft, tpot, tbt or e2e.

    A TBT limit is one on the longest gap of a request: one gap above it, and the request did not meet it.
    """

    metric: str
    ms: float

    def __post_init__(self) -> None:
        """Refuse a latency that is not known and a limit that is no time."""
        metric_named(self.metric)
        if not 0 < self.ms < 1e9:
            raise UsageError(f"a limit of {self.ms:g} ms is no time; write milliseconds above 0")


@dataclass(frozen=True, slots=True)
class Timeslices:
    """Budget counted in slices of time: a slice is good when at least `target` of its requests are."""

    length: timedelta
    target: float


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective.

    With `joint` a request has to meet all limits at once; without it each limit has `target` to itself,
    and the objective stands as the limit does that stands worst. `window` is rolling. `slices` is None where
    single requests are counted (OpenSLO's Occurrences). `sla_class`, `baseline_ms` (the P99 that the class
    promises), `buffer_ms` and `actions` tell what a class is worth to the dynamic threshold; None where not
    given.
    """

    name: str
    title: str
    where: Filter
    limits: tuple[Limit, ...]
    joint: bool = True
    target: float = 0.99
    window: timedelta = timedelta(days=30)
    sla_class: str = ""
    baseline_ms: float | None = None
    buffer_ms: float | None = None
    actions: tuple[str, ...] = ()
    service: str = ""
    description: str = ""
    slices: Timeslices | None = None
    alerts: tuple[BurnPair, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an objective that nothing could meet, or everything."""
        metrics = [limit.metric for limit in self.limits]
        if not metrics or len(set(metrics)) < len(metrics):
            raise UsageError(f"objective {self.name}: give one limit or more, each latency once")
        if not 0 < self.target < 1:
            raise UsageError(
                f"objective {self.name}: a target of {self.target:g} leaves no budget; write 0.99"
            )
        if not SHORTEST <= self.window <= LONGEST:
            raise UsageError(f"objective {self.name}: a window lasts from 1 hour to 366 days")

    @property
    def budget(self) -> float:
        """Return the share of requests (or slices) that may be bad."""
        return 1 - self.target

    def pairs(self) -> tuple[BurnPair, ...]:
        """Return when its burn is an alert: its own policies, or the workbook's for its window."""
        return self.alerts or burn_windows(self.window)

    def narrowed(self, scope: Filter) -> "Objective":
        """Return it for the requests of `scope` alone; a dimension may be named in one of them only."""
        return self if scope == EVERY_REQUEST else replace(self, where=self.where.also(scope))
