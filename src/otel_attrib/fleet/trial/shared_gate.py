"""The gate of `gate`, and what a tenant leaves of its budget goes to the others.

All buckets together fill with the total. A bucket that is full takes no more, and what would have come to it
is divided among the others by their budgets, so nothing is lost while anybody waits: weighted fair sharing,
with a burst. When all tenants wait it is the other gate.
"""

from collections import deque
from dataclasses import dataclass, field

from otel_attrib.fleet.trial.gate import Released

__all__ = ["SharedGate"]

_LEAST = (
    1e-9  # of what a bucket holds at most: nearer it counts as full, or as owing nothing; so time goes on
)


@dataclass(slots=True)
class _Bucket:
    """A tenant's budget, what it has now and may have at most, and who waits: (row, when it came, tokens)."""

    rate: float
    most: float
    level: float
    waiting: deque[tuple[int, float, float]] = field(default_factory=deque)

    @property
    def full(self) -> bool:
        """Return whether nothing more goes in."""
        return self.level >= self.most * (1 - _LEAST)

    @property
    def owed(self) -> float:
        """Return the tokens that it lacks until it owes nothing."""
        return -self.level if self.level < -_LEAST * self.most else 0.0

    def next_at(self, now: float) -> float:
        """Return when the first one that waits comes, if it is not there yet."""
        came = self.waiting[0][1] if self.waiting else float("inf")
        return came if came > now else float("inf")

    def ready(self, now: float) -> bool:
        """Return whether the first one that waits may go."""
        return bool(self.waiting) and self.waiting[0][1] <= now and self.owed == 0.0


class SharedGate:
    """All buckets on one clock; they begin full."""

    def __init__(self, rates: dict[int, float], burst_s: float = 5.0) -> None:
        """Open with a budget for each tenant, tokens a second."""
        self._burst_s = burst_s
        self._now = 0.0
        self._buckets = {
            tenant: _Bucket(rate, rate * burst_s, rate * burst_s) for tenant, rate in rates.items()
        }

    def set_rates(self, rates: dict[int, float], at: float) -> None:
        """Change the budgets from `at` on, up to which everything has been released."""
        self._fill(max(at - self._now, 0.0))
        self._now = max(at, self._now)
        for tenant, rate in rates.items():
            bucket = self._buckets[tenant]
            bucket.rate, bucket.most = rate, rate * self._burst_s
            bucket.level = min(bucket.level, bucket.most)

    def come(self, tenant: int, row: int, at: float, tokens: float) -> None:
        """Put a request at the end of its tenant's line."""
        self._buckets[tenant].waiting.append((row, at, tokens))

    def release(self, until: float) -> list[Released]:
        """Let through whatever may go before `until`, in order of time."""
        out: list[Released] = []
        while True:
            out += self._let_through()
            at = self._next()
            if at >= until:
                break
            self._fill(at - self._now)
            self._now = at
        if until < float("inf"):
            self._fill(until - self._now)
            self._now = until
        return sorted(out, key=lambda found: (found.at, found.row))

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(len(bucket.waiting) for bucket in self._buckets.values())

    def _let_through(self) -> list[Released]:
        out = []
        for bucket in self._buckets.values():
            while bucket.ready(self._now):
                row, _, tokens = bucket.waiting.popleft()
                bucket.level -= tokens
                out.append(Released(row, self._now))
        return out

    def _flows(self) -> dict[int, float]:
        """Return what each bucket gets a second now."""
        open_ = {tenant: bucket.rate for tenant, bucket in self._buckets.items() if not bucket.full}
        total = sum(bucket.rate for bucket in self._buckets.values())
        weights = sum(open_.values())
        return {tenant: total * rate / weights for tenant, rate in open_.items()} if weights else {}

    def _next(self) -> float:
        """Return when something happens next: one comes, may go, or a bucket is full."""
        times = [bucket.next_at(self._now) for bucket in self._buckets.values()]
        for tenant, flow in self._flows().items():
            bucket = self._buckets[tenant]
            lacks = bucket.owed if bucket.owed and bucket.waiting else bucket.most - bucket.level
            times.append(self._now + lacks / flow)
        return min(times, default=float("inf"))

    def _fill(self, seconds: float) -> None:
        """Let it flow for so long, in which nothing else happens."""
        for tenant, flow in self._flows().items():
            bucket = self._buckets[tenant]
            bucket.level = min(bucket.level + flow * seconds, bucket.most)
