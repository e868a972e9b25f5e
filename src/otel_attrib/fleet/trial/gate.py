"""An admission gate in front of the engines: a token bucket for each tenant, first come first served in it.

A tenant's bucket fills with its budget, tokens a second, up to what comes in `burst_s` seconds. A request
goes through when its bucket owes nothing, and takes its tokens, prompt and the output it may write; a large
one may leave the bucket in debt, so none waits for ever. Over a long time a tenant gets its budget and no
more, even while the engines are idle: a budget is a limit, and what one tenant leaves another does not get.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Gate", "Kind", "Released"]

Kind = Literal["limit", "share"]
"""What becomes of a budget that is left: nothing (`Gate`), or it goes to the others (`SharedGate`)."""


@dataclass(frozen=True, slots=True)
class Released:
    """A request, by its row, and when it went through."""

    row: int
    at: float


@dataclass(slots=True)
class _Bucket:
    """What a tenant may take at `at`, and who waits: (row, when it came, tokens)."""

    rate: float = 0.0
    level: float = 0.0
    at: float = 0.0
    waiting: deque[tuple[int, float, float]] = field(default_factory=deque)


class Gate:
    """All buckets; they begin full."""

    def __init__(self, rates: dict[int, float], burst_s: float = 5.0) -> None:
        """Open with a budget for each tenant, tokens a second."""
        self._burst_s = burst_s
        self._buckets = {tenant: _Bucket(rate, rate * burst_s) for tenant, rate in rates.items()}

    def set_rates(self, rates: dict[int, float], at: float) -> None:
        """Change the budgets from `at` on; what is in a bucket stays, up to the new most."""
        for tenant, rate in rates.items():
            bucket = self._buckets[tenant]
            self._fill(bucket, at)
            bucket.rate = rate
            bucket.level = min(bucket.level, rate * self._burst_s)

    def come(self, tenant: int, row: int, at: float, tokens: float) -> None:
        """Put a request at the end of its tenant's line."""
        self._buckets[tenant].waiting.append((row, at, tokens))

    def release(self, until: float) -> list[Released]:
        """Let through whatever may go before `until`, in order of time."""
        out = [found for bucket in self._buckets.values() for found in self._through(bucket, until)]
        return sorted(out, key=lambda found: (found.at, found.row))

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(len(bucket.waiting) for bucket in self._buckets.values())

    def _through(self, bucket: _Bucket, until: float) -> list[Released]:
        out = []
        while bucket.waiting:
            row, came, tokens = bucket.waiting[0]
            at = max(came, self._free(bucket))
            if at >= until:
                break
            bucket.waiting.popleft()
            self._fill(bucket, at)
            bucket.level -= tokens
            out.append(Released(row, at))
        return out

    def _free(self, bucket: _Bucket) -> float:
        """Return when the bucket owes nothing."""
        if bucket.level >= 0:
            return bucket.at
        return bucket.at - bucket.level / bucket.rate if bucket.rate > 0 else float("inf")

    def _fill(self, bucket: _Bucket, at: float) -> None:
        if at > bucket.at:
            grown = bucket.level + bucket.rate * (at - bucket.at)
            bucket.level, bucket.at = min(grown, bucket.rate * self._burst_s), at
