"""How well an objective was met in one window: shares of good requests, jointly and limit by limit.

`good` and `total` are those of the objective itself: with `joint` of all limits at once, without it of the
limit that was met least. Joint attainment is never above the least marginal one where every request was
measured. What is unmeasured is in neither; how far it could move the share is told by `reach`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, sqrt

from otel_attrib.analytics.objectives.objective import Objective
from otel_attrib.analytics.objectives.tally import JOINT, Tally, tally
from otel_attrib.analytics.windows import Window
from otel_attrib.schema.store import Store

__all__ = ["Attained", "Share", "attain", "attained", "requests_needed", "share_of", "wilson", "worst"]

Z95 = 1.959963984540054  # the normal distribution's 97.5 % quantile


@dataclass(frozen=True, slots=True)
class Share:
    """Requests by weight: `good` of `total`, and `unmeasured` beside them; `rows` of them are stored."""

    good: int
    total: int
    unmeasured: int
    rows: int

    @property
    def bad(self) -> int:
        """Return how many failed or were above a limit."""
        return self.total - self.good

    @property
    def value(self) -> float | None:
        """Return the share that was good, None where nothing was judged."""
        return self.good / self.total if self.total else None

    def reach(self) -> tuple[float, float] | None:
        """Return the share if every unmeasured request was bad, and if every one was good."""
        everything = self.total + self.unmeasured
        if not everything:
            return None
        return self.good / everything, (self.good + self.unmeasured) / everything

    def interval(self) -> tuple[float, float] | None:
        """Return Wilson's 95 % interval of the share, by the rows it was judged from."""
        return wilson(self.good / self.total, self.rows) if self.total else None


@dataclass(frozen=True, slots=True)
class Attained:
    """What one window held; `marginal` has each limit on its own, by latency."""

    whole: Share
    marginal: Mapping[str, Share]

    @property
    def good(self) -> int:
        """Return the good requests, by weight."""
        return self.whole.good

    @property
    def total(self) -> int:
        """Return the judged requests, by weight."""
        return self.whole.total


def attain(store: Store, objective: Objective, window: Window) -> Attained:
    """Count the requests of one window, exactly; `objective.slices` plays no part."""
    edges = window.bounds_us()
    (found,) = tally(store, [objective], [edges["from_us"], edges["to_us"]])
    return attained(found, objective)


def attained(found: Tally, objective: Objective) -> Attained:
    """Return what all stretches of a tally hold together."""
    shares = {name: share_of(found, name) for name in found.counts}
    marginal = {limit.metric: shares[limit.metric] for limit in objective.limits}
    whole = shares[JOINT] if objective.joint else worst(marginal)
    return Attained(whole, marginal)


def worst(shares: Mapping[str, Share]) -> Share:
    """Return the share that stands lowest; one that nothing was judged for only if there is no other."""
    return min(shares.values(), key=lambda share: 2.0 if share.value is None else share.value)


def share_of(found: Tally, name: str, last: int | None = None) -> Share:
    """Return the sum over the last stretches of a tally (all of them by default)."""
    counts = found.counts[name]
    first = 0 if last is None else max(0, counts.good.size - last)
    good, total, unmeasured, rows = (
        int(column[first:].sum()) for column in (counts.good, counts.total, counts.unmeasured, counts.rows)
    )
    return Share(good, total, unmeasured, rows)


def wilson(share: float, n: int, z: float = Z95) -> tuple[float, float]:
    """Return the score interval of a share seen in `n` independent requests (Wilson 1927)."""
    if n <= 0:
        return 0.0, 1.0
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def requests_needed(target: float, margin: float, z: float = Z95) -> int:
    """Return how many requests tell a share of `target` to within ± `margin`.

    At 99 % confidence (z = 2.5758) and half of a tenth of a percent this is MLPerf's old table: P99, 262,742.
    """
    return ceil(z * z * target * (1 - target) / (margin * margin))
