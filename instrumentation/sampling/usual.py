"""What is usual of one kind of request, lately: a running quantile in bounded memory.

Counts in logarithmic buckets (2 % wide), halved when there are many, so that what was long ago fades
and a change of the traffic is learnt within some thousand requests. Kinds beyond `MOST_KINDS` share one.
"""

from collections import defaultdict
from collections.abc import Hashable
from math import ceil

from otel_attrib.instrumentation.gaps import bucket
from otel_attrib.schema.attributes import SKETCH_GROWTH

__all__ = ["Usual", "Usually"]

MOST_KINDS = 256
FADES_AT = 4096
"""Values after which all counts are halved."""
EVERY = 32
"""Values after which the limit is computed anew."""
ABOVE = 5
"""Values above the quantile that a limit rests on at least."""


class Usual:
    """The quantile of what was seen of one kind."""

    __slots__ = ("counts", "least", "level", "limit", "total")

    def __init__(self, level: float) -> None:
        """Follow the quantile at `level`."""
        self.level = level
        self.least = ceil(ABOVE / (1 - level) - 1e-9)
        self.counts: defaultdict[int, int] = defaultdict(int)
        self.total = 0
        self.limit: float | None = None

    def see(self, us: float) -> None:
        """Add one value in µs."""
        self.counts[bucket(us)] += 1
        self.total += 1
        if self.total >= FADES_AT:
            halved = {place: count // 2 for place, count in self.counts.items() if count > 1}
            self.counts = defaultdict(int, halved)
            self.total = sum(halved.values())
        if self.total >= self.least and (self.limit is None or self.total % EVERY == 0):
            self.limit = self._quantile()

    def _quantile(self) -> float:
        left = self.total * (1 - self.level)
        for place in sorted(self.counts, reverse=True):
            left -= self.counts[place]
            if left < 0:
                return float(SKETCH_GROWTH**place)  # its upper end: what is as usual as the rest is not above
        return 0.0


class Usually:
    """The limits of all kinds of requests."""

    def __init__(self, level: float) -> None:
        """Follow the quantile at `level` of each kind."""
        self.level = level
        self.kinds: dict[Hashable, Usual] = {}

    def exceeds(self, kind: Hashable, us: float) -> bool | None:
        """Say whether a value is above the limit before it (None: too few were seen), and add it."""
        if kind not in self.kinds and len(self.kinds) >= MOST_KINDS:
            kind = None
        usual = self.kinds.get(kind) or self.kinds.setdefault(kind, Usual(self.level))
        limit = usual.limit
        usual.see(us)
        return None if limit is None else us > limit
